"""Access to LLMs: one turn in, one reply out. This package does not touch the work tree, processes or the judge."""
