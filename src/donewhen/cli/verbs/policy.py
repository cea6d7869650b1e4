"""The verb `donewhen policy COMMAND`: the decision of the policy on a command, and its rule. Nothing is run."""

import json
import shlex

import anyio
import click

from donewhen.cli.group import one_line
from donewhen.server.methods.machine import policy_decide

EXIT_CODES = {"allow": 0, "deny": 1, "ask": 3}


@click.command("policy", context_settings={"allow_interspersed_args": False})
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a line.")
@click.argument("words", nargs=-1, required=True, metavar="COMMAND...")
def command(as_json: bool, words: tuple[str, ...]) -> int:
    """Show whether an engine may run COMMAND: allow, ask or deny, the rule and its reason. Runs nothing.

    Exit 0 for allow, 1 for deny, 3 for ask. The policy is early feedback; the sandbox is what confines a command.
    COMMAND is one argument, as a shell would get it, or several words.
    """
    ruling = anyio.run(policy_decide, words[0] if len(words) == 1 else shlex.join(words))
    if as_json:
        click.echo(json.dumps(ruling))
    else:
        line = f"{ruling['decision']}  {ruling['rule']}  {ruling['reason']}: {ruling['command']}"
        click.echo(one_line(line))
    return EXIT_CODES[ruling["decision"]]
