"""The native engine: donewhen's own tool loop on any LLM.

    loop               the engine: call the model, run its tool calls, return the results, until it calls no more tools;
                       resumes from its notes
    notes              the records in the log
    conversation       messages and state, folded from notes
    reply              size limits for one reply, and ids for its calls
    prompt             the text that the model gets
    repo_instructions  the instruction files of the repository, for the prompt
    tools/             the tools that the model may use

The engine produces a tree and claims nothing about it. Other code, which no engine can reach, decides whether the work
is done.
"""
