"""Configuration: files, environment, options, the schema of all keys, and trust in a repository's file.

No other package reads configuration. Start with `schema`, then `settings`.
"""
