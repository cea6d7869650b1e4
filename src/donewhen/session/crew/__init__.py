"""Which engines and models work on a session, and in which order.

This is the only package that creates engines and models. It does not run them: see `loop`. Start with `crew`.
"""
