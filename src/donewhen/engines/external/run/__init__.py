"""Starting an agent's program for one task and reading what it prints.

Agents that speak the Agent Client Protocol are driven by `acp`. Start with `cli_agent`.
"""
