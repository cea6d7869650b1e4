"""The doors of an agent's private network: the only ways from its loopback to the world.

    proxy           to hosts by name                         gateway     to one model endpoint, whose key it holds
    hosts           one spelling for a host; the rules       upstream    the endpoint, and what is passed on to it
    addresses       which addresses a name may mean          exchange    one request and its answer
    client_hello    whom a TLS connection says it is for     redaction   the key, taken out of what goes inside
    outside         resolving and dialling                   questions   to a person: an MCP server with one tool
    doorway stream  connections: who is let in, and bytes    heads bodies    HTTP/1.1, read strictly

All serve listening sockets that were made in the agent's network and live outside it. When a door breaks it is shut:
the agent has no other route. What is said inside an encrypted connection is not seen here.
"""
