"""Starts processes and ends them together with all their descendants.

No other part of donewhen starts a process. `workspace.sandbox` decides what a sandbox mounts and forbids. Start reading
at `launch`; the program that it controls is in `launcher`.
"""
