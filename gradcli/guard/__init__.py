"""Checks inside a running program: `gradcli watch` and `gradcli mutate`.

Read watch (starts the command and reports) and watched (checks what was seen; solver_uses and framework_uses make the
claims) first, then mutate. in_command/ is code that runs inside the user's command.
"""
