"""The verb `donewhen acp`: an editor uses donewhen as its agent, over stdin and stdout."""

import click

from donewhen.cli.group import say


@click.command("acp")
@click.option("--engine", default="", help="The engine until another is chosen in the editor.")
@click.option("--model", "models", multiple=True, help="A model to choose from in the editor; repeatable.")
def command(engine: str, models: tuple[str, ...]) -> int:
    """Let an editor that speaks the Agent Client Protocol (version 1) use donewhen as its agent.

    The editor starts this command. A prompt is an intent, worked on in the repository that is open in the editor.
    Sessions go through a daemon if one runs, and survive the editor; without a daemon they end with the editor.
    """
    from donewhen.server.acp.agent import run_agent
    from donewhen.server.acp.choices import Defaults

    return run_agent(Defaults(engine=engine, models=models), say)
