"""What an agent finds inside: its private directory, its variables, its doors to the world. Nothing is started here.

The directory belongs to the session and is as old as it, so that an agent that is called again finds its own
conversation. The user's credentials are bound into it as the files they are, never copied: tokens rotate. Where there
is a key the agent does not even see that: it is given a stand-in, and the gateway puts the real one in.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from donewhen.engines.base import Job
from donewhen.engines.external.agent import Task
from donewhen.engines.external.furniture import content, put
from donewhen.engines.external.network.endpoints import ANYTHING
from donewhen.engines.external.network.gateway import Request, Upstream, serve_gateway
from donewhen.engines.external.network.hosts import Rules
from donewhen.engines.external.network.proxy import Connection, serve_proxy
from donewhen.engines.external.network.questions import Ask, serve_questions
from donewhen.engines.external.profile import File, Profile, Provider, Way, filled
from donewhen.errors import MachineryBroke
from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.merged.problems import FileProblem, Outside
from donewhen.workspace.sandbox import machine
from donewhen.workspace.sandbox.guest import ADDRESS, Door, Guest
from donewhen.workspace.sandbox.home import installation_within, installations, search_path, toolchains
from donewhen.workspace.sandbox.view import Bind, Overlay
from donewhen.workspace.trees import share_layer

if TYPE_CHECKING:
    from socket import socket

    from donewhen.workspace.maker import Maker

GATEWAY_PORT, PROXY_PORT, MCP_PORT = 47801, 47802, 47803
MCP_HERE = "http://here/mcp"
"""Stands for the one that we serve ourselves, where the user names none."""
STAND_IN = "stand-in-for-the-key-that-the-gateway-holds"
LONGEST_TASK = 96 * 1024
"""Longer ones are handed over as a file: no program can be given a longer word."""


@frozen(kw_only=True)
class Hired:
    """An agent that was found, and the terms on which it works here."""

    profile: Profile
    kind: Literal["acp", "cli"]
    program: str
    """Its absolute path."""
    shown: tuple[str, ...] = ()
    """For an agent that is a command of the shell: what it starts with, and what it names by its path."""
    upstream: Upstream | None = None
    """The model behind the gateway; None: it is signed in to an account of its own, or is not known to need a model."""
    provider: str = ""
    """Whose model that is, for its price."""
    model: str = ""
    rules: Rules
    """Whom the proxy lets it reach."""
    mcp_url: str = ""
    project_settings: bool = False

    @property
    def way(self) -> Way:
        return self.profile.ways[self.kind]

    @property
    def behind_gateway(self) -> Provider | None:
        """The provider of its model; None when it works by an account of its own."""
        providers = self.profile.providers if self.upstream is not None else ()
        return next((one for one in providers if one.name == self.provider), None)


@frozen
class Quarters:
    """Ready to move in."""

    guest: Guest
    argv: tuple[str, ...]
    config: Path
    """The private directory, as the host sees it."""
    inside: str
    """The same, as the agent sees it."""
    mcp_url: str
    """An MCP server to offer, as the agent reaches it; empty for none."""


@frozen
class Porters:
    """Told who went through the doors."""

    requested: Callable[[Request], None]
    connected: Callable[[Connection], None]
    ask: Ask | None = None
    """Puts an agent's question to a person; None when nobody can be asked."""


def furnish(hired: Hired, job: Job, task: Task, porters: Porters) -> Quarters:
    """Write the profile's files, and say how the agent is started."""
    outside = job.own / hired.profile.name
    outside.mkdir(parents=True, exist_ok=True, mode=0o700)
    inside = f"{_home()}/.donewhen-agent"
    values = _values(hired, task, inside, asks=porters.ask is not None)
    if len(task.text.encode()) > LONGEST_TASK:
        put(outside, "task.md", task.text)
        values["task"] = f"Your task is in the file {inside}/task.md. Read all of it first, then do what it says."
    for file in hired.profile.files:
        put(outside, file.path, content(file, _parts_of(file, hired, values), values))
    binds = [
        Bind(str(outside), inside, writable=True),
        *_credentials(hired, inside),
        *_covers(hired, job.maker, outside),
    ]
    binds += [Bind(place, place) for place in _installations(hired, job.maker)]
    beneath, layers = _within(hired, job.maker, outside)
    guest = Guest(
        binds=(*binds, *layers),
        beneath=beneath,
        env={**_proxy_variables(), **_variables(hired, values)},
        doors=_doors(hired, porters),
    )
    return Quarters(guest, _argv(hired, task, values), outside, inside, values["mcp_url"])


def _home() -> str:
    home = os.environ.get("HOME", "/")
    return "/run" if home == "/" else home


def _values(hired: Hired, task: Task, inside: str, asks: bool) -> dict[str, str]:
    provider = hired.behind_gateway
    return {
        "task": task.text,
        "config": inside,
        "gateway": f"http://{ADDRESS}:{GATEWAY_PORT}",
        "key": STAND_IN,
        "model": task.model or (provider.model if provider else "") or hired.profile.default_model,
        "turns": str(task.max_turns),
        "mcp_url": _mcp_inside(hired.mcp_url or (MCP_HERE if asks else "")),
        "conversation": task.conversation,
        "provider": hired.provider,
    }


def _variables(hired: Hired, values: Mapping[str, str]) -> dict[str, str]:
    """Those of the profile; one that names the model is left out when there is none to name."""
    by = hired.behind_gateway or hired.profile.sign_in
    every = {**hired.profile.env, **hired.way.env, **by.env}
    return {name: filled(one, values) for name, one in every.items() if values["model"] or "{model}" not in one}


def _argv(hired: Hired, task: Task, values: Mapping[str, str]) -> tuple[str, ...]:
    way = hired.way
    words = [*way.argv, *way.turns]
    words += way.model if values["model"] else ()
    words += way.mcp if values["mcp_url"] else ()
    words += way.resume if task.conversation else ()
    words += hired.profile.project_argv if hired.project_settings else ()
    return (hired.program, *(filled(word, values) for word in (*words, *way.task)))


def _parts_of(file: File, hired: Hired, values: Mapping[str, str]) -> list[Mapping[str, Any] | None]:
    """What is put together to a file of JSON, by what applies."""
    parts = [file.json, file.turns]
    parts += [file.gateway] if hired.upstream is not None else []
    parts += [file.model] if values["model"] else []
    parts += [file.mcp] if values["mcp_url"] else []
    return [*parts, file.project] if hired.project_settings else parts


def _credentials(hired: Hired, inside: str) -> list[Bind]:
    """Only where no key is held for it, and only files that are there."""
    sign_in = hired.profile.sign_in
    if hired.upstream is not None:
        return []
    home = _home()
    places = [filled(place, {"config": inside}) for place in sign_in.inside]
    pairs = zip(sign_in.files, places or [f"{home}/{name}" for name in sign_in.files], strict=True)
    return [Bind(f"{home}/{name}", at, writable=True) for name, at in pairs if os.path.isfile(f"{home}/{name}")]


def _covers(hired: Hired, maker: "Maker", outside: Path) -> list[Bind]:
    """Over everything in the tree by which a repository would configure the agent."""
    if hired.project_settings:
        return []
    nothing = outside.parent / "nothing"
    (nothing / "directory").mkdir(parents=True, exist_ok=True)
    (nothing / "file").touch()
    files, covers = maker.files, list[Bind]()
    for path in hired.profile.project:
        try:
            kind = files.stat(path).kind
        except Outside as error:
            raise MachineryBroke(
                f"{error}: settings of the repository would reach the agent; remove that link"
            ) from error
        except FileProblem:
            continue
        covers.append(Bind(str(nothing / ("directory" if kind == "directory" else "file")), f"{maker.root}/{path}"))
    return covers


def _installations(hired: Hired, maker: "Maker") -> list[str]:
    """What must be seen for the program to run, where it lies in a place that is emptied otherwise."""
    home = Path(_home())
    emptied = [*machine.volatile_places(), *machine.homes(home)]
    hidden = [home, *map(Path, emptied)]
    tree = Path(maker.root)
    shown = toolchains(home, search_path(os.environ.get("PATH", "")), emptied, [maker.root])
    # Where a link of the repository leads is the repository's choice, and shown only if it is seen anyway.
    named = [program for program in _programs(hired) if tree not in program.parents]
    return sorted({str(place) for program in named for place in installations(program, hidden, shown, tree)})


def _within(hired: Hired, maker: "Maker", outside: Path) -> tuple[str, list[Bind | Overlay]]:
    """What lies in the checkout and not in the tree, for a program that was never committed.

    A directory of packages appears as a layer that can be written to. A program on its own is laid beneath the tree, so
    that its directory stays the tree's own. Neither is part of what the agent makes.
    """
    tree, beneath, layers = Path(maker.root), "", dict[Path, Bind | Overlay]()
    kept = outside.parent / "+programs"  # the name of no agent: what lies here must not be bound into a sandbox
    for program in dict.fromkeys(path for one in _programs(hired) for path in (one, Path(os.path.realpath(one)))):
        if tree not in program.parents or not program.is_file() or _is_in(maker, program.relative_to(tree)):
            continue
        place = installation_within(program, tree)
        if place != program and not _is_in(maker, place.relative_to(tree)):
            inner = str(place.relative_to(tree))
            layers[place] = share_layer(kept / "installed" / inner, Root(tree), inner, maker.root)
        else:
            beneath = str(kept / "beneath")
            Path(beneath).mkdir(parents=True, exist_ok=True)
            _copy(Root(tree), str(program.relative_to(tree)), Root(beneath))
    return beneath, list(layers.values())


def _copy(checkout: Root, path: str, target: Root) -> None:
    """A program of the checkout, or a link as a link: where that leads is another program's business."""
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


def _programs(hired: Hired) -> list[Path]:
    return [Path(program) for program in (hired.program, *hired.shown)]


def _is_in(maker: "Maker", path: Path) -> bool:
    """Whether the tree has this path, or a share that shows it."""
    if any(path == Path(share) or Path(share) in path.parents for share in maker.tree.facts.shares):
        return True
    try:
        maker.files.stat(str(path))
    except FileProblem:
        return False
    return True


def _doors(hired: Hired, porters: Porters) -> tuple[Door, ...]:
    async def proxy(listener: "socket") -> None:
        await serve_proxy(listener, hired.rules, porters.connected)

    doors = [Door(PROXY_PORT, proxy)]
    upstream = hired.upstream
    if upstream is not None:

        async def gateway(listener: "socket") -> None:
            await serve_gateway(listener, upstream, porters.requested)

        doors.append(Door(GATEWAY_PORT, gateway))
    if hired.mcp_url:
        mcp = Upstream(base=_origin(hired.mcp_url), header="authorization", key="", wire=ANYTHING)

        async def mcp_door(listener: "socket") -> None:
            await serve_gateway(listener, mcp, _unheard)

        doors.append(Door(MCP_PORT, mcp_door))
    elif (ask := porters.ask) is not None:

        async def questions(listener: "socket") -> None:
            await serve_questions(listener, ask)

        doors.append(Door(MCP_PORT, questions))
    return tuple(doors)


def _unheard(request: Request) -> None:
    """What goes to an MCP server says nothing about the model."""
    del request


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _mcp_inside(url: str) -> str:
    """Where the agent finds the MCP server: behind a door of its own, by the same path."""
    return f"http://{ADDRESS}:{MCP_PORT}{url.removeprefix(_origin(url))}" if url else ""


def _proxy_variables() -> dict[str, str]:
    proxy, direct = f"http://{ADDRESS}:{PROXY_PORT}", "localhost,127.0.0.1,::1"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    variables = {name: proxy for upper in names for name in (upper, upper.lower())}
    return {**variables, "NO_PROXY": direct, "no_proxy": direct, "NODE_USE_ENV_PROXY": "1"}
