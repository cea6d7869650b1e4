"""The verb `donewhen mcp`: MCP on stdin and stdout, and tokens for clients that use MCP over HTTP."""

from pathlib import Path

import click

from donewhen.cli.group import say
from donewhen.errors import BadInput


@click.command("mcp")
@click.option("--token-file", type=click.Path(path_type=Path), metavar="FILE", help="Be the client of this token.")
@click.option("--new-client", default="", metavar="NAME", help="Write a new token for a client to FILE, and end.")
@click.option("--allow", multiple=True, metavar="TOOL", help="With --new-client: only this tool. Repeatable.")
@click.option("--remove-client", default="", metavar="NAME", help="Make the token of a client invalid, and end.")
def command(token_file: Path | None, new_client: str, allow: tuple[str, ...], remove_client: str) -> int:
    """Speak the Model Context Protocol on stdin and stdout, for a program that starts this command.

    Calls go through the daemon if one runs. Without a token file, the client may use all tools. Every call is written
    to the audit log in the state directory. No client can approve, answer or land anything.
    """
    if new_client and remove_client:
        raise BadInput("--new-client and --remove-client exclude each other")
    if allow and not new_client:
        raise BadInput("--allow needs --new-client")
    if new_client:
        return _create(new_client, allow, token_file)
    if remove_client:
        return _remove(remove_client)
    from donewhen.server.run_mcp import run_stdio

    return run_stdio(token_file, say)


def _create(name: str, tools: tuple[str, ...], token_file: Path | None) -> int:
    from donewhen.server.mcp.clients import McpClients, write_private

    if token_file is None:
        raise BadInput("--new-client needs --token-file FILE: the token is written there")
    clients = McpClients(_state())
    try:
        write_private(token_file, f"{clients.create(name, tools)}\n")
    except OSError as error:
        clients.remove(name)
        raise BadInput(f"{token_file}: {error.strerror}") from error
    say(f"the token of the client {name} is in {token_file}")
    return 0


def _remove(name: str) -> int:
    from donewhen.server.mcp.clients import McpClients

    if not McpClients(_state()).remove(name):
        raise BadInput(f"there is no client {name!r}")
    say(f"the token of the client {name} is no longer valid")
    return 0


def _state() -> Path:
    import os

    from donewhen.workspace.state_dir import state_root

    return state_root(os.environ)
