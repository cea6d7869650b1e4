"""What is known about an agent, as data: how it is found, started, kept from configuring itself, heard and limited.

A profile is a TOML file in `profiles/`; adding an agent is adding one. `[agent.NAME]` of the settings adds a command of
the user's own, or pins the program of a known agent. Nothing is looked up or started here.

Words in `argv`, `env`, `file` and the like may hold placeholders in braces; `filled` puts values in:

    {task}          the text of the task                {model}     the model's name as its provider has it
    {config}        a private directory, as seen inside {turns}     the limit of turns
    {gateway}       address of the model's gateway      {mcp_url}   an MCP server to offer
    {key}           a stand-in for the API key          {conversation}  the one to go on with
    {provider}      the provider's name, as `[[provider]]` has it
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal, cast

from donewhen.records import frozen
from donewhen.toml import parse_toml

Governance = Literal["full", "confined", "open"]
GOVERNANCE: tuple[Governance, ...] = ("open", "confined", "full")
"""From the least to the most: `full` every tool call passes our policy; `confined` sandbox, proxy, gate on the diff."""
PREFERRED = ("claude-code", "codex", "gemini", "opencode", "qwen", "copilot", "pi", "aider", "mini-swe-agent")
"""In this order one is chosen where none is named."""

Text = str | Sequence[Any] | Mapping[str, Any]


@frozen(kw_only=True)
class Provider:
    """A provider of models that the agent can use with a key, through the gateway."""

    name: str
    """As in `--model NAME:…`: anthropic, openai, google."""
    keys: tuple[str, ...]
    """Variables of the user that may hold the key; the first that is set counts."""
    path: str = ""
    """What the server's address may end in that the agent adds by itself, such as /v1; `{gateway}` goes without it."""
    header: str = "authorization"
    """The header that carries the key: `authorization` (as a bearer), `x-api-key`, `x-goog-api-key`."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables that lead the agent to this provider through the gateway; not set when it works by its account."""
    model: str = ""
    """What it is asked for when no model is named; empty where the agent knows one by itself."""


@frozen(kw_only=True)
class SignIn:
    """How the agent is used without a key: by an account it has signed in to."""

    files: tuple[str, ...] = ()
    """Credential files below HOME, bound and never copied. Any one that exists means: signed in."""
    inside: tuple[str, ...] = ()
    """Where they appear, one for each of `files`; `{config}` allowed. Empty: at their own paths."""
    hosts: tuple[str, ...] = ()
    """Hosts that the proxy lets through then."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    expires: str = ""
    """A dotted key into the first file that holds a time in milliseconds or seconds; past it, with no `refresh` key
    set, the sign-in has expired."""
    refresh: str = ""
    login: str = ""
    """What a person types to sign in."""


@frozen(kw_only=True)
class Way:
    """One way in: the agent's own stream on its standard output, or the Agent Client Protocol."""

    program: str
    argv: tuple[str, ...]
    """After the program. Each option below is appended when it applies."""
    stream: str = ""
    """A shape of `streams`; empty for ACP."""
    governance: Governance = "confined"
    turns: tuple[str, ...] = ()
    """Given to an agent that keeps a limit of turns by itself; it is counted here all the same."""
    model: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    """Options that go on with a conversation; empty: the task is stated anew."""
    anew: bool = False
    """ACP: whether the task is stated anew although the agent offers to go on: because it tells the old story again
    while it is at the new task, or because it loses its last words."""
    mcp: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    """How the task is given at the very end; empty when `{task}` stands in `argv`, or for ACP."""
    mode: str = ""
    """ACP: the session mode to set; empty: the agent's own default."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    package: str = ""
    """What to install for it, as a person would type it."""
    counted: str = ""
    """For people: what is counted by whom."""


@frozen(kw_only=True)
class File:
    """A file of configuration written into the private directory before every invocation."""

    path: str
    """Below `{config}`."""
    text: str = ""
    json: Mapping[str, Any] | None = None
    mcp: Mapping[str, Any] | None = None
    """Merged into `json` when an MCP server is offered."""
    model: Mapping[str, Any] | None = None
    """Merged into `json` when a model is pinned."""
    gateway: Mapping[str, Any] | None = None
    """Merged into `json` when the model is reached through the gateway."""
    turns: Mapping[str, Any] | None = None
    """Merged into `json`: how a limit of turns is passed. A value that is exactly "{turns}" becomes a number."""
    project: Mapping[str, Any] | None = None
    """Merged into `json` when the repository's own settings may count."""


@frozen(kw_only=True)
class Profile:
    name: str
    title: str = ""
    tried: str = ""
    """The versions this was tried with."""
    version: tuple[str, ...] = ("--version",)
    status: tuple[str, ...] = ()
    """Asks the program whether it is signed in: exit 0 is yes. Only where that needs no network."""
    providers: tuple[Provider, ...] = ()
    sign_in: SignIn = SignIn()
    ways: Mapping[str, Way] = field(default_factory=dict[str, Way])
    """By `acp` and `cli`, the preferred first."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    files: tuple[File, ...] = ()
    project: tuple[str, ...] = ()
    """Paths in a repository by which it would configure the agent (settings, hooks, MCP servers): hidden from it
    unless `project_settings` is set."""
    project_argv: tuple[str, ...] = ()
    """Options that are given when the repository's own settings may count; the others are in `argv`."""
    default_model: str = ""
    """For agents that cannot start without being told one."""


TASK_VARIABLE = "DONEWHEN_TASK"
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def filled(text: str, values: Mapping[str, str]) -> str:
    """With every known placeholder replaced; other braces stay as they are."""
    return PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


@cache
def shipped() -> Mapping[str, Profile]:
    """All profiles of the package, by name, in the order of preference."""
    found = [
        from_table(parse_toml(one.read_bytes()))
        for one in files(f"{__package__}.profiles").iterdir()
        if one.name.endswith(".toml")
    ]
    order = {name: number for number, name in enumerate(PREFERRED)}
    found.sort(key=lambda one: (order.get(one.name, len(order)), one.name))
    return {one.name: one for one in found}


def from_table(table: Mapping[str, Any]) -> Profile:
    """A profile out of its TOML; a key that is not known is a mistake of ours and raises."""
    rest = dict(table)
    providers = tuple(Provider(**_tuples(one)) for one in rest.pop("provider", []))
    sign_in = SignIn(**_tuples(rest.pop("sign_in", {})))
    ways = {kind: Way(**_tuples(rest.pop(kind))) for kind in list(rest) if kind in ("acp", "cli")}
    written = tuple(File(**_tuples(one)) for one in rest.pop("file", []))
    return Profile(**_tuples(rest), providers=providers, sign_in=sign_in, ways=ways, files=written)


def custom(name: str, command: str) -> Profile:
    """An agent that is just a command of the user's for /bin/sh, with `{task}` in it, quoted or not."""
    way = Way(
        program="/bin/sh",
        argv=("-c", _by_variable(command)),
        stream="plain",
        env={TASK_VARIABLE: "{task}"},
        counted="time by us; nothing else is known",
    )
    return Profile(name=name, title=command, ways={"cli": way}, version=())


def _by_variable(command: str) -> str:
    """The task as a variable, so that nothing in it is ever read by the shell."""
    parts, quote = command.split("{task}"), ""
    words = [parts[0]]
    for before, part in pairwise(parts):
        quote = _open_quote(before, quote)
        variable = f"${{{TASK_VARIABLE}}}"
        words += [{"": f'"{variable}"', '"': variable, "'": f"'\"{variable}\"'"}[quote], part]
    return "".join(words)


def _open_quote(text: str, quote: str) -> str:
    """The kind of quotes that are open after a piece of shell text."""
    escaped = False
    for letter in text:
        if escaped:
            escaped = False
        elif letter == "\\" and quote != "'":
            escaped = True
        elif letter in ("'", '"'):
            quote = "" if quote == letter else quote or letter
    return quote


def _tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    """TOML's lists of strings as tuples."""
    return {key: tuple(cast("list[Any]", value)) if isinstance(value, list) else value for key, value in table.items()}
