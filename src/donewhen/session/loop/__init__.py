"""The repair loop: attempt, judge, feedback, next attempt, over all steps of the ladder.

It knows no engine but the foreman and the native engine by name, and it does not decide how a session ends: see `crew`
and `conclude`. Start with `ladder`.
"""
