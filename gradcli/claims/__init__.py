"""What states a derivative: written by hand, recorded by gradcli's engine, a formula, or given by code elsewhere.

Read claim (the interface) first, then hand_written, recorded and formula; adapters/ has frameworks, servers, processes
and libraries. open finds the program or the claim that a target names; as_called calls a rule as programs do;
object_engine runs engines such as micrograd.
"""
