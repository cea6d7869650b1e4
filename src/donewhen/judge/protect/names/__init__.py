"""Which paths are protected, by their names alone.

Tables of file names and patterns. Nothing here opens a file. Start with `deciding_files`.
"""
