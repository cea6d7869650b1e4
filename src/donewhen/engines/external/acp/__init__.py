"""Agents that speak the Agent Client Protocol (ACP): connection, requests and updates.

Agents that only print are driven by `run`. Start with `client`.
"""
