"""Facts about source text: whether it parses, what it declares, and how two changes of it can be merged.

Pure functions: text in, facts or text out. This package opens no files and starts no processes. Its results are advice
for a gate, which then runs the checks.
"""
