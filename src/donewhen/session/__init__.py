"""Sessions: one intent from start to outcome, and the verbs that people and programs use.

How a tree is judged is in `judge`, how work is done in `engines`, how it is isolated in `workspace`. Start with
`session`.
"""
