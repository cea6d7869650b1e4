"""How finished patches are put together: gated one by one, merged, judged as a union, and searched when it is red.

Facts and checks decide here, no model and no opinion. This room never judges by itself: who needs a verdict is handed
a callable that gives one, so that the same steps serve an engine and a command.
"""
