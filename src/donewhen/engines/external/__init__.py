"""Other people's agents, in our walls: same contract, same judge, same cancel, same budget.

    engine        one round: an invocation, its happenings counted and told, its limits kept
    agent         the seam; `cli` and `acp` are the two ways in
    profile       what is known about an agent, as data in `profiles/`
    streams/      readers of what agents print        happening   the one vocabulary they read it into
    task          what an agent is told
    quarters      what it finds inside: its files, its variables, its doors to the world
    network/      those doors: a gateway that holds the key, a proxy that knows the hosts, one to a person
    finding       which agents are here, and whether they are ready

It makes a tree and claims nothing about it.
"""
