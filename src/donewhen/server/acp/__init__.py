"""donewhen as an editor's agent: the Agent Client Protocol, version 1, on stdio. Start reading at `agent`.

It talks to sessions through `Service` only. It is not the client for agents of other vendors, which is in
`engines.external.acp`; the two share nothing.
"""
