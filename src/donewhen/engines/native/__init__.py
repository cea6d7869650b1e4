"""Our own tool loop on any LLM.

    loop           the engine: ask, carry out, tell, until the model stops calling tools; goes on from its notes
    conversation   what was said and done, folded from notes
    naming bounds  ids for calls; no more of them than can be kept
    prompt         what the model is told (instructions: by the repository)
    tools/         what it may use

It makes a tree and claims nothing about it: whether the work is done is decided elsewhere, by code that no engine can
reach.
"""
