"""Texts without the secrets that a command or an agent had: for later rounds, and for what is published."""

import re
from collections.abc import Mapping
from urllib.parse import unquote

from donewhen.judge.output_tail import redacted
from donewhen.loops.spec import LoopSpec
from donewhen.session.settings.settings import Settings
from donewhen.workspace.process.output import Output

NAME = re.compile(
    r"TOKEN(?!IZ)|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|APIKEY|PRIVATE_?KEY|WEBHOOK"
    r"|(?:(?:^|_)PAT|AUTH|(?<!ASK)PASS|PWD|KEYS?)(?:_?[0-9]+)?$",
    re.IGNORECASE,
)
"""The name of a variable that usually holds a secret."""
NO_SECRET = re.compile(r"(?:OLD)?PWD|.*(?:PATH|DIR|FILE)", re.IGNORECASE)
"""The name of a variable that holds a place."""
URL_PASSWORD = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
SHORTEST = 8
"""In characters. A shorter value of such a variable is a setting."""


def secret_variables(environment: Mapping[str, str], *names: str) -> dict[str, str]:
    """Return the variables with these names or names that say that they hold a secret, and passwords in addresses."""
    found: dict[str, str] = {}
    for name, value in environment.items():
        if NAME.search(name) and not NO_SECRET.fullmatch(name):
            found[name] = value
        for number, password in enumerate(URL_PASSWORD.findall(value)):
            found |= {f"{name} password {number}": password, f"{name} password {number} decoded": unquote(password)}
    found = {name: value for name, value in found.items() if len(value) >= SHORTEST}
    return {**found, **{name: environment[name] for name in names if name in environment}}


def round_secrets(settings: Settings, spec: LoopSpec, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that agents and inputs of a loop get, and its token: for `memory.sanitise.hide_secrets`."""
    names = {settings.text("forge", "token_env"), *settings.texts("workspace", "env")}
    names |= {name for one in spec.inputs for name in one.env}
    return {name: environment[name] for name in names if name in environment}


def text_without(secrets: Mapping[str, str], output: Output) -> str:
    """Return an output without these values. Where it was cut, a part of one may stand: that is left out, too."""
    if not output.cut:
        return redacted(output.whole().decode("utf-8", "replace"), secrets)
    longest = max((len(value) for value in secrets.values()), default=0)
    head, tail = (redacted(part.decode("utf-8", "replace"), secrets) for part in (output.head, output.tail))
    return f"{head[: len(head) - longest]}\n[... {output.cut} bytes cut ...]\n{tail[longest:]}"
