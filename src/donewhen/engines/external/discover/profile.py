"""Agent profiles as data: how an agent is found, started, kept from configuring itself, read and limited.

A profile is a TOML file in `profiles/`; to add an agent, add a file. `[agent.NAME]` in the settings adds a command of
the user, or pins the program of a known agent. Nothing is looked up or started here.

Strings in `argv`, `env`, `file` and similar keys may contain placeholders in braces; `filled` replaces them:

    {task}          the text of the task                {model}     the model's name as its provider spells it
    {config}        a private directory, as seen inside {turns}     the turn limit
    {gateway}       address of the model's gateway      {mcp_url}   an MCP server to offer
    {key}           a stand-in for the API key          {conversation}  the conversation to resume
    {provider}      the provider's name, as in `[[provider]]`
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
"""From the least to the most control: `full` means that every tool call passes our policy; `confined` means sandbox,
proxy and a gate on the diff."""
PREFERRED = ("claude-code", "codex", "gemini", "opencode", "qwen", "copilot", "pi", "aider", "mini-swe-agent")
"""Order in which an agent is chosen if none is named."""

Text = str | Sequence[Any] | Mapping[str, Any]


@frozen(kw_only=True)
class AgentProvider:
    """A provider of models that the agent can use with a key, through the gateway."""

    name: str
    """As in `--model NAME:…`: anthropic, openai, google."""
    keys: tuple[str, ...]
    """User variables that may hold the key; the first one that is set is used."""
    path: str = ""
    """End of the server's address that the agent itself adds, such as /v1; `{gateway}` does not include it."""
    header: str = "authorization"
    """The header that carries the key: `authorization` (as a bearer token), `x-api-key`, `x-goog-api-key`."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables that direct the agent to this provider through the gateway; not set if it uses its account."""
    model: str = ""
    """Model to request if none is named; empty if the agent has its own default."""


@frozen(kw_only=True)
class SignIn:
    """How the agent is used without a key: by an account that it is signed in to."""

    files: tuple[str, ...] = ()
    """Credential files below HOME, bound and never copied. If any of them exists, the agent counts as signed in."""
    inside: tuple[str, ...] = ()
    """Where they appear inside, one path for each of `files`; `{config}` is allowed. Empty: at their own paths."""
    hosts: tuple[str, ...] = ()
    """Hosts that the proxy allows for a signed-in agent."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    expires: str = ""
    """Dotted key into the first file, of a time in milliseconds or seconds. After that time, if no `refresh` key is
    set, the sign-in has expired."""
    refresh: str = ""
    login: str = ""
    """What a person types to sign in."""


@frozen(kw_only=True)
class AgentInterface:
    """One interface to an agent: its own stream on standard output, or the Agent Client Protocol (ACP)."""

    program: str
    argv: tuple[str, ...]
    """Arguments after the program. Each option below is appended if it applies."""
    stream: str = ""
    """A stream shape of `streams`; empty for ACP."""
    governance: Governance = "confined"
    turns: tuple[str, ...] = ()
    """Options for an agent that enforces a turn limit itself; we count its turns anyway."""
    model: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    """Options that resume a conversation; empty: the task is sent again in full."""
    may_resume: bool = True
    """ACP: False if the task is sent again in full although the agent offers to resume, because it repeats the old
    conversation during the new task, or because it loses its last message."""
    mcp: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    """How the task is passed at the very end; empty if `argv` contains `{task}`, or for ACP."""
    mode: str = ""
    """ACP: the session mode to set; empty: the agent's own default."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    package: str = ""
    """What to install for it, as a person would type it."""
    counted: str = ""
    """For people: what is counted, and by whom."""


@frozen(kw_only=True)
class ProfileFile:
    """A configuration file that is written into the private directory before every invocation."""

    path: str
    """Relative to `{config}`."""
    text: str = ""
    json: Mapping[str, Any] | None = None
    mcp: Mapping[str, Any] | None = None
    """Merged into `json` when an MCP server is offered."""
    model: Mapping[str, Any] | None = None
    """Merged into `json` when a model is pinned."""
    gateway: Mapping[str, Any] | None = None
    """Merged into `json` when the model is reached through the gateway."""
    turns: Mapping[str, Any] | None = None
    """Merged into `json`: how the turn limit is passed. A value that is exactly "{turns}" becomes a number."""
    project: Mapping[str, Any] | None = None
    """Merged into `json` when the repository's own settings may apply."""


@frozen(kw_only=True)
class Profile:
    name: str
    title: str = ""
    tried: str = ""
    """Versions that this profile was tried with."""
    version: tuple[str, ...] = ("--version",)
    status: tuple[str, ...] = ()
    """Arguments that ask the program whether it is signed in: exit code 0 means yes. Only if that needs no network."""
    providers: tuple[AgentProvider, ...] = ()
    sign_in: SignIn = SignIn()
    interfaces: Mapping[str, AgentInterface] = field(default_factory=dict[str, AgentInterface])
    """By `acp` and `cli`, the preferred one first."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    files: tuple[ProfileFile, ...] = ()
    project: tuple[str, ...] = ()
    """Paths in a repository by which it would configure the agent (settings, hooks, MCP servers). They are hidden from
    it unless `project_settings` is set."""
    project_argv: tuple[str, ...] = ()
    """Options that are given when the repository's own settings may apply; the others are in `argv`."""
    default_model: str = ""
    """For agents that cannot start without a named model."""


TASK_VARIABLE = "DONEWHEN_TASK"
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace every known placeholder; other braces stay as they are."""
    return PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


@cache
def shipped() -> Mapping[str, Profile]:
    """Return all profiles of the package by name, in order of preference."""
    found = [
        from_table(parse_toml(one.read_bytes()))
        for one in files(f"{__package__}.profiles").iterdir()
        if one.name.endswith(".toml")
    ]
    order = {name: number for number, name in enumerate(PREFERRED)}
    found.sort(key=lambda one: (order.get(one.name, len(order)), one.name))
    return {one.name: one for one in found}


def from_table(table: Mapping[str, Any]) -> Profile:
    """Build a profile from its TOML table. An unknown key is our own mistake and raises."""
    rest = dict(table)
    providers = tuple(AgentProvider(**_tuples(one)) for one in rest.pop("provider", []))
    sign_in = SignIn(**_tuples(rest.pop("sign_in", {})))
    interfaces = {kind: AgentInterface(**_tuples(rest.pop(kind))) for kind in list(rest) if kind in ("acp", "cli")}
    written = tuple(ProfileFile(**_tuples(one)) for one in rest.pop("file", []))
    return Profile(**_tuples(rest), providers=providers, sign_in=sign_in, interfaces=interfaces, files=written)


def custom(name: str, command: str) -> Profile:
    """Build the profile of an agent that is only a user command for /bin/sh, with `{task}` in it, quoted or not."""
    interface = AgentInterface(
        program="/bin/sh",
        argv=("-c", _by_variable(command)),
        stream="plain",
        env={TASK_VARIABLE: "{task}"},
        counted="time by donewhen; nothing else is known",
    )
    return Profile(name=name, title=command, interfaces={"cli": interface}, version=())


def _by_variable(command: str) -> str:
    """Pass the task as a variable, so that the shell never interprets its text."""
    parts, quote = command.split("{task}"), ""
    words = [parts[0]]
    for before, part in pairwise(parts):
        quote = _open_quote(before, quote)
        variable = f"${{{TASK_VARIABLE}}}"
        words += [{"": f'"{variable}"', '"': variable, "'": f"'\"{variable}\"'"}[quote], part]
    return "".join(words)


def _open_quote(text: str, quote: str) -> str:
    """Return the kind of quote that is open after a piece of shell text."""
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
    """Convert TOML lists to tuples."""
    return {key: tuple(cast("list[Any]", value)) if isinstance(value, list) else value for key, value in table.items()}
