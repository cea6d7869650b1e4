"""JSON-RPC 2.0 over any connection: bounded parsing, dispatch, errors, subscriptions. Start reading at `connection`."""
