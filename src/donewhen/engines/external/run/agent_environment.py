"""Agent environment: an agent's private directory, variables, binds and inner ports. Nothing is started here.

The private directory lives as long as its session, so that a later invocation finds its own conversation.
The user's credential files are bound into the sandbox, never copied: tokens rotate. If a key is used, the agent does
not see it: it gets a stand-in, and the gateway inserts the real key.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from donewhen.engines.external.agent import AgentTask
from donewhen.engines.external.discover.profile import AgentInterface, AgentProvider, Profile, ProfileFile, fill
from donewhen.engines.external.network.endpoints import mcp_wire
from donewhen.engines.external.network.gateway import RequestLog, Upstream, serve_gateway
from donewhen.engines.external.network.hosts import Rules
from donewhen.engines.external.network.proxy import ConnectionLog, serve_proxy
from donewhen.engines.external.network.question_server import Ask, serve_questions
from donewhen.engines.external.run.config_files import content, write_file
from donewhen.engines.interface import Job
from donewhen.errors import MachineryBroke
from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.sandbox import machine
from donewhen.workspace.sandbox.guest import ADDRESS, Guest, InnerPort
from donewhen.workspace.sandbox.home import installation_within, installations, search_path, toolchains
from donewhen.workspace.sandbox.view import Bind, Overlay
from donewhen.workspace.trees.overlay.problems import FileProblem, OutsideTree
from donewhen.workspace.trees.trees import share_layer

if TYPE_CHECKING:
    from socket import socket

    from donewhen.workspace.trees.maker import Maker

GATEWAY_PORT, PROXY_PORT, MCP_PORT = 47801, 47802, 47803
MCP_HERE = "http://here/mcp"
"""Stands for the question server that we run ourselves, if the user names no MCP server."""
STAND_IN = "stand-in-for-the-key-that-the-gateway-holds"
LONGEST_TASK = 96 * 1024
"""Limit in bytes; a longer task is passed as a file, because a program argument cannot be that long."""


@frozen(kw_only=True)
class AgentLaunchSpec:
    """An agent that was found, and the terms on which it runs: model, key, network, settings."""

    profile: Profile
    kind: Literal["acp", "cli"]
    program: str
    """Absolute path of the program."""
    shown: tuple[str, ...] = ()
    """For an agent that is a shell command: the program it starts with, and the files it names by path."""
    upstream: Upstream | None = None
    """The model behind the gateway; None if the agent is signed in to its own account, or is not known to need a
    model."""
    provider: str = ""
    """Provider of that model, for its price."""
    model: str = ""
    rules: Rules
    """Hosts that the proxy lets it reach."""
    mcp_url: str = ""
    mcp_token: str = field(default="", repr=False)
    """The gateway sends it; the agent never sees it. Empty: none is sent."""
    project_settings: bool = False

    @property
    def interface(self) -> AgentInterface:
        return self.profile.interfaces[self.kind]

    @property
    def behind_gateway(self) -> AgentProvider | None:
        """The provider of its model behind the gateway; None if it uses its own account."""
        providers = self.profile.providers if self.upstream is not None else ()
        return next((one for one in providers if one.name == self.provider), None)


@frozen
class PreparedAgent:
    """An agent that is ready to be started in the sandbox."""

    guest: Guest
    argv: tuple[str, ...]
    config: Path
    """The private directory, as a host path."""
    inside: str
    """The private directory, as the agent sees it."""
    mcp_url: str
    """URL of an MCP server to offer, as the agent reaches it; empty for none."""


@frozen
class AgentCallbacks:
    """Callbacks for the traffic through the inner ports."""

    on_request: Callable[[RequestLog], None]
    """Receives each request to the model."""
    on_mcp_request: Callable[[RequestLog], None]
    """Receives each request to the user's MCP server: it says nothing about the model."""
    on_connection: Callable[[ConnectionLog], None]
    ask: Ask | None = None
    """Asks a person the agent's question; None if no person is available."""


def prepare_agent(spec: AgentLaunchSpec, job: Job, task: AgentTask, callbacks: AgentCallbacks) -> PreparedAgent:
    """Write the profile's files and return how the agent is started."""
    host_dir = job.private_dir / spec.profile.name
    host_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    inside = f"{_home()}/.donewhen-agent"
    values = _placeholder_values(spec, task, inside, may_ask=callbacks.ask is not None)
    if len(task.text.encode()) > LONGEST_TASK:
        write_file(host_dir, "task.md", task.text)
        values["task"] = f"Your task is in the file {inside}/task.md. Read all of it first, then do what it says."
    for file in spec.profile.files:
        write_file(host_dir, file.path, content(file, _json_parts(file, spec, values), values))
    binds = [
        Bind(str(host_dir), inside, writable=True),
        *_credentials(spec, inside),
        *_hiding_binds(spec, job.maker, host_dir),
    ]
    binds += [Bind(path, path) for path in _installations(spec, job.maker)]
    beneath, layers = _uncommitted_programs(spec, job.maker, host_dir)
    guest = Guest(
        binds=(*binds, *layers),
        beneath=beneath,
        env={**_proxy_variables(), **_variables(spec, values)},
        inner_ports=_inner_ports(spec, callbacks),
    )
    return PreparedAgent(guest, _argv(spec, task, values), host_dir, inside, values["mcp_url"])


def _home() -> str:
    home = os.environ.get("HOME", "/")
    return "/run" if home == "/" else home


def _placeholder_values(spec: AgentLaunchSpec, task: AgentTask, inside: str, may_ask: bool) -> dict[str, str]:
    provider, mcp_url = spec.behind_gateway, spec.mcp_url or (MCP_HERE if may_ask else "")
    if mcp_url:  # the agent reaches the server through its inner port, with the same path
        mcp_url = urlsplit(mcp_url)._replace(scheme="http", netloc=f"{ADDRESS}:{MCP_PORT}").geturl()
    return {
        "task": task.text,
        "config": inside,
        "gateway": f"http://{ADDRESS}:{GATEWAY_PORT}",
        "key": STAND_IN,
        "model": task.model or (provider.model if provider else "") or spec.profile.default_model,
        "turns": str(task.max_turns),
        "mcp_url": mcp_url,
        "conversation": task.conversation,
        "provider": spec.provider,
    }


def _variables(spec: AgentLaunchSpec, values: Mapping[str, str]) -> dict[str, str]:
    """Return the profile's variables, without those that name the model if there is no model."""
    source = spec.behind_gateway or spec.profile.sign_in
    every = {**spec.profile.env, **spec.interface.env, **source.env}
    return {name: fill(one, values) for name, one in every.items() if values["model"] or "{model}" not in one}


def _argv(spec: AgentLaunchSpec, task: AgentTask, values: Mapping[str, str]) -> tuple[str, ...]:
    interface = spec.interface
    arguments = [*interface.argv, *interface.turns]
    arguments += interface.model if values["model"] else ()
    arguments += interface.mcp if values["mcp_url"] else ()
    arguments += interface.resume if task.conversation else ()
    arguments += spec.profile.project_argv if spec.project_settings else ()
    return (spec.program, *(fill(word, values) for word in (*arguments, *interface.task)))


def _json_parts(file: ProfileFile, spec: AgentLaunchSpec, values: Mapping[str, str]) -> list[Mapping[str, Any] | None]:
    """Return the parts of a JSON file that apply."""
    parts = [file.json, file.turns]
    parts += [file.gateway] if spec.upstream is not None else []
    parts += [file.model] if values["model"] else []
    parts += [file.mcp] if values["mcp_url"] else []
    return [*parts, file.project] if spec.project_settings else parts


def _credentials(spec: AgentLaunchSpec, inside: str) -> list[Bind]:
    """Return binds for the credential files that exist; none if the gateway is used."""
    sign_in = spec.profile.sign_in
    if spec.upstream is not None:
        return []
    home = _home()
    places = [fill(path, {"config": inside}) for path in sign_in.inside]
    pairs = zip(sign_in.files, places or [f"{home}/{name}" for name in sign_in.files], strict=True)
    return [Bind(f"{home}/{name}", at, writable=True) for name, at in pairs if os.path.isfile(f"{home}/{name}")]


def _hiding_binds(spec: AgentLaunchSpec, maker: "Maker", host_dir: Path) -> list[Bind]:
    """Return binds that hide everything in the tree by which a repository would configure the agent."""
    if spec.project_settings:
        return []
    nothing = host_dir.parent / "nothing"
    (nothing / "directory").mkdir(parents=True, exist_ok=True)
    (nothing / "file").touch()
    files, covers = maker.files, list[Bind]()
    for path in spec.profile.project:
        try:
            kind = files.stat(path).kind
        except OutsideTree as error:
            raise MachineryBroke(
                f"{error}: the agent would read settings of the repository through this link; remove it"
            ) from error
        except FileProblem:
            continue
        covers.append(Bind(str(nothing / ("directory" if kind == "directory" else "file")), f"{maker.root}/{path}"))
    return covers


def _installations(spec: AgentLaunchSpec, maker: "Maker") -> list[str]:
    """Return what the program needs to run, if it is in a place that the sandbox empties."""
    home = Path(_home())
    emptied = [*machine.volatile_places(), *machine.homes(home)]
    tree = Path(maker.root)
    shown = toolchains(home, search_path(os.environ.get("PATH", "")), emptied, [maker.root])
    # The repository decides where its links lead, so a link target is shown only if it is visible anyway.
    named = [program for program in _programs(spec) if tree not in program.parents]
    private = [machine.closed_above(str(path)) for program in named for path in (program, os.path.realpath(program))]
    hidden = [home, *map(Path, (*emptied, *filter(None, private)))]
    return sorted({str(path) for program in named for path in installations(program, hidden, shown, tree)})


def _uncommitted_programs(spec: AgentLaunchSpec, maker: "Maker", host_dir: Path) -> tuple[str, list[Bind | Overlay]]:
    """Return what is in the checkout but not in the tree, for a program that was never committed.

    A package directory appears as a writable layer. A single program is placed beneath the tree, so that its directory
    stays the tree's own. Neither is part of what the agent makes.
    """
    tree, beneath, layers = Path(maker.root), "", dict[Path, Bind | Overlay]()
    kept = host_dir.parent / "+programs"  # not a valid agent name: this must not be bound into a sandbox
    for program in dict.fromkeys(path for one in _programs(spec) for path in (one, Path(os.path.realpath(one)))):
        if tree not in program.parents or not program.is_file() or _is_in_tree(maker, program.relative_to(tree)):
            continue
        path = installation_within(program, tree)
        if path != program and not _is_in_tree(maker, path.relative_to(tree)):
            inner = str(path.relative_to(tree))
            layers[path] = share_layer(kept / "installed" / inner, Root(tree), inner, maker.root)
        else:
            beneath = str(kept / "beneath")
            Path(beneath).mkdir(parents=True, exist_ok=True)
            _copy(Root(tree), str(program.relative_to(tree)), Root(beneath))
    return beneath, list(layers.values())


def _copy(checkout: Root, path: str, target: Root) -> None:
    """Copy a program of the checkout. Copy a link as a link: its target is handled as another program."""
    with target.above(path, make=True) as (above, name):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=above)
        link = checkout.target(path)
        if link is not None:
            os.symlink(link, name, dir_fd=above)
            return
        with checkout.file(path) as source:
            mode = os.fstat(source.fileno()).st_mode & 0o777
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(name, flags, mode, dir_fd=above), "wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)


def _programs(spec: AgentLaunchSpec) -> list[Path]:
    return [Path(program) for program in (spec.program, *spec.shown)]


def _is_in_tree(maker: "Maker", path: Path) -> bool:
    """Return True if the tree has this path, or a share that shows it."""
    if any(path == Path(share) or Path(share) in path.parents for share in maker.tree.facts.shares):
        return True
    try:
        maker.files.stat(str(path))
    except FileProblem:
        return False
    return True


def _inner_ports(spec: AgentLaunchSpec, callbacks: AgentCallbacks) -> tuple[InnerPort, ...]:
    async def proxy(listener: "socket") -> None:
        await serve_proxy(listener, spec.rules, callbacks.on_connection)

    ports = [InnerPort(PROXY_PORT, proxy)]
    upstream = spec.upstream
    if upstream is not None:

        async def gateway(listener: "socket") -> None:
            await serve_gateway(listener, upstream, callbacks.on_request)

        ports.append(InnerPort(GATEWAY_PORT, gateway))
    if spec.mcp_url:
        mcp = Upstream(
            base=_origin(spec.mcp_url), header="authorization", key=spec.mcp_token, wire=mcp_wire(spec.mcp_url)
        )

        async def mcp_gateway(listener: "socket") -> None:
            await serve_gateway(listener, mcp, callbacks.on_mcp_request)

        ports.append(InnerPort(MCP_PORT, mcp_gateway))
    elif (ask := callbacks.ask) is not None:

        async def questions(listener: "socket") -> None:
            await serve_questions(listener, ask)

        ports.append(InnerPort(MCP_PORT, questions))
    return tuple(ports)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _proxy_variables() -> dict[str, str]:
    proxy, direct = f"http://{ADDRESS}:{PROXY_PORT}", "localhost,127.0.0.1,::1"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    variables = {name: proxy for upper in names for name in (upper, upper.lower())}
    return {**variables, "NO_PROXY": direct, "no_proxy": direct, "NODE_USE_ENV_PROXY": "1"}
