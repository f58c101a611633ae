"""Checks inside a running program: `gradcli watch` and `gradcli mutate`.

Read watch (starts the command and reports) and watched (checks what was seen; solver_uses and framework_uses make the
claims) first, then mutate. in_command/ is code that runs inside the user's command.

Steps of training (watch --loss): read steps (checks one step), step_fit (least squares) and step_causes (what explains
a gradient, with step_evidence, step_factors and step_weights), then step_summary (what the processes report),
step_processes and step_progress. declared_loss finds the user's loss. In in_command/, training notes what happens,
torch_hooks and jax_hooks call it, step_check starts a check.
"""
