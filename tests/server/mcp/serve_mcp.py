"""Program of the tests: the core of the daemon with its web side and MCP, until stdin is closed.

python serve_mcp.py --as-client NAME [--any-host]

Every request counts as one of this new client. With any host, the defences of the web side against
other hosts and origins are off.
"""

import os
import sys
from pathlib import Path

import anyio
import anyio.to_thread

from donewhen.server.calls.prepared_process import PreparedProcess
from donewhen.server.client import socket_path
from donewhen.server.local_service import PLACES, open_service
from donewhen.server.mcp.clients import McpClient, McpClients
from donewhen.server.mcp.endpoint import McpEndpoint
from donewhen.server.methods.table import TABLE
from donewhen.server.web.access import open_access
from donewhen.server.web.app import WebMount
from donewhen.server.web.defences import WebDefences
from donewhen.server.web.options import WebOptions, listen
from donewhen.server.web.serve import serve_web
from donewhen.workspace.state_dir import state_root

CLIENT = "--as-client"


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


async def serve(prepared: PreparedProcess, state: Path) -> None:
    with open_access(state) as access:
        async with open_service(prepared, PLACES, say) as core, anyio.create_task_group() as tasks:
            endpoint = McpEndpoint(core.service, tasks, state, say)
            name = sys.argv[sys.argv.index(CLIENT) + 1]
            McpClients(state).create(name)
            caller = McpClient(name=name, tools=frozenset()).caller(None)
            mount = WebMount(path="/mcp", app=endpoint, identify=lambda _: caller)
            any_host = "--any-host" in sys.argv
            listener = listen(WebOptions(port=0, defences=WebDefences(host=not any_host, origin=not any_host)))
            async with serve_web(core.service, TABLE, access, listener, say, mounts=[mount]):
                await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
            tasks.cancel_scope.cancel()


if __name__ == "__main__":
    place = state_root(os.environ)
    socket_path(place)
    forked = PreparedProcess.fork()
    try:
        anyio.run(serve, forked, place)
    finally:
        forked.close()
