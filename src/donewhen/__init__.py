"""donewhen: a coding agent is done when your checks say so.

This module holds the version and nothing else, so that importing any room stays cheap.
"""

__version__ = "0.1.0.dev0"
