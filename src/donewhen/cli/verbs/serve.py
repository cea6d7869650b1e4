"""The verb `donewhen serve`: one server for people, editors, scripts and agents, until it is stopped."""

from pathlib import Path

import click

from donewhen.cli.group import say


@click.command("serve")
@click.option("--port", type=click.IntRange(0, 65535), default=7730, show_default=True, help="0: a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Beyond this machine only with TLS.")
@click.option("--tls-certificate", type=click.Path(path_type=Path), default=None, help="A file in PEM format.")
@click.option("--tls-key", type=click.Path(path_type=Path), default=None, help="Its key, without a password.")
@click.option("--no-board", is_flag=True, help="Without the web page.")
@click.option("--places", type=click.IntRange(min=1), default=4, show_default=True, help="Sessions at the same time.")
@click.option("--schema", is_flag=True, help="Print the OpenRPC document of the methods, and end.")
def command(
    port: int,
    host: str,
    tls_certificate: Path | None,
    tls_key: Path | None,
    no_board: bool,
    places: int,
    schema: bool,
) -> int:
    """Serve sessions and loops to this user's programs: `run`, `list` and other verbs then go through the daemon.

    Sessions that a crash interrupted go on. Loops of accepted files run when they are due. Ctrl-C stops at once,
    SIGTERM after a moment; what was not finished goes on at the next start.
    """
    if schema:
        return _print_schema()
    from donewhen.server.daemon import ServeOptions, serve
    from donewhen.server.web.options import WebOptions

    web = WebOptions(port=port, host=host, tls_certificate=tls_certificate, tls_key=tls_key)
    return serve(ServeOptions(web=web, board=not no_board, places=places), say, click.echo)


def _print_schema() -> int:
    import json

    from donewhen.server.openrpc import document

    click.echo(json.dumps(document(), indent=2))
    return 0
