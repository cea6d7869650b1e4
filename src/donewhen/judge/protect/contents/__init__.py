"""Files that hold product and judge settings together: which parts of an edit count.

One module per file format. Paths are chosen in `names` and `commands`, not here. Start with `mixed_contents`.
"""
