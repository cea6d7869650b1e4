"""The program that parses a command in a separate process. It may hang or crash; `client` starts and ends it.

It reads one question and writes two answers: first the one for a command that cannot be parsed, which needs no parser,
then the real one. So even if the parser fails, the result of the operator's own expressions has been written before.
"""

import json
import sys
from typing import Any, TextIO

from donewhen.workspace.policy import Decision, Policy, Ruling
from donewhen.workspace.policy.grammar import parse
from donewhen.workspace.policy.plain import unreadable


def encode_request(policy: Policy, command: str) -> bytes:
    request = {
        "deny": policy.entries(Decision.DENY),
        "ask": policy.entries(Decision.ASK),
        "root": policy.working_dir.root,
        "command": command,
    }
    return json.dumps(request).encode()


def last_ruling(printed: bytes) -> Ruling | None:
    """Return the last complete answer, if any."""
    *whole, _ = printed.split(b"\n")
    if not whole:
        return None
    decision, rule, reason, command = json.loads(whole[-1])
    return Ruling(Decision(decision), rule, reason, command)


def write_rulings(request: dict[str, Any], out: TextIO) -> None:
    policy = Policy.load(request["deny"], request["ask"], request["root"])
    for parse_command in (unreadable, parse):
        ruling = policy.decide(request["command"], parse_command)
        out.write(json.dumps([ruling.decision.value, ruling.rule, ruling.reason, ruling.command]) + "\n")
        out.flush()


def main() -> None:
    write_rulings(json.load(sys.stdin), sys.stdout)
