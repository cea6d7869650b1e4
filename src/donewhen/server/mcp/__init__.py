"""MCP: what an agent or another program may do here through the Model Context Protocol, over HTTP and over stdio.

`tools` lists the tools, `tool_calls` carries them out through the `Service` of the daemon, and `governed` decides about
each call before and records it after. Only `protocol`, `http_endpoint` and `stdio` know the protocol: they are loaded
on use, because its library takes a second to load. No decision of a person can be made here.
"""
