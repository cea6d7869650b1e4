"""`python -m wire_server SCRIPT`: the server alone, for programs that get its address.

A script is a list of steps like those of `scripted:` files (`text`, `tool`, `tools`, `say`, `usage`), or `{"status":
429, "body": …, "headers": {…}}`. The first printed line is the address; the server ends with its input.
"""

import json
import sys
from pathlib import Path
from typing import Any

from . import Act, Answer, Refuses, SaidCall, Says, serving


def act_of(number: int, step: dict[str, Any]) -> Act:
    if "status" in step:
        return Refuses(step["status"], json.dumps(step.get("body", {})).encode(), step.get("headers", {}))
    wished = step.get("tools", [step["tool"]] if "tool" in step else [])
    calls = tuple(
        SaidCall(f"call_{number}_{place}", call["name"], json.dumps(call.get("input", {})))
        for place, call in enumerate(wished)
    )
    usage = step.get("usage", {})
    text = step.get("text") or step.get("say", "")
    return Says(Answer(text=text, calls=calls, input=usage.get("input", 100), output=usage.get("output", 10)))


def main() -> None:
    steps: list[dict[str, Any]] = json.loads(Path(sys.argv[1]).read_text())
    with serving(*(act_of(number, step) for number, step in enumerate(steps))) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
