"""The daemon for browsers and programs on HTTP and WebSocket. It knows no method: it passes calls to a `Service`.

Start reading at `serve`. Before a request is routed it passes `guarded_protocol` (deadlines, connections),
`request_rules` (host, origin, form) and `access` (tokens, cookies). `defences` has a switch for each, for tests.
"""
