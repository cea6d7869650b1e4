"""Planning before the work and evaluation after it, for sessions of the planned engine.

The prompts and the readers of replies are in `engines.planned`. Start with `draft_plan`.
"""
