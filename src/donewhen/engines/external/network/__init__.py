"""Inner ports of an agent's private network: the only routes from its loopback to the world.

    proxy            to hosts by name
    hosts            one spelling for a host; the rules which hosts may be reached
    dial             resolving and dialling; which addresses a name may mean
    client_hello     which host a TLS connection says it is for
    gateway          to one model endpoint, whose key it holds
    gateway_request  one request and its answer
    upstream         the endpoint, and what is passed on to it
    endpoints        which requests pass, per wire
    redaction        removes the key from what goes inside
    question_server  to a person: an MCP server with one tool
    listener         accepts connections, up to a limit
    stream           a connected socket as a stream of bytes
    http1            HTTP/1.1, read strictly

All serve listening sockets that were created in the agent's network and are held outside it. If a server breaks, its
port is closed: the agent has no other route. The content of encrypted connections is not visible here.
"""
