"""donewhen: a coding agent is done when your checks say so.

This module contains only the version, so that importing any package of donewhen stays cheap.
"""

__version__ = "0.1.0.dev0"
