"""External engine: agents of other vendors, under the same contract, judge, cancellation and budget as our engines.

    engine         one round: an invocation, its counted events and its limits
    agent          the interface of an agent: a task in, a report out
    agent_events   what an agent can report, one vocabulary for all agents
    json_values    typed access to JSON of unknown shape
    discover/      which agents are installed and ready; `profile` describes an agent as data
    run/           the agent's environment and task; agents driven by their command line; costs and limits
    acp/           agents driven by the Agent Client Protocol
    network/       the inner ports: a gateway that holds the key, a proxy that checks hosts, a question server
    streams/       readers of what agents print, one per stream shape

It produces a tree and claims nothing about it.
"""
