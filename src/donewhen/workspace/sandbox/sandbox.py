"""Sandbox interface: takes one command, returns how it ended, with the strongest isolation this machine allows.

    sandbox = TreeSandbox(launcher, probe, tree, config)
    finished = await sandbox.run(ShellCommand("make test"))

A sandbox is one tree with its view. Every command in it gets new namespaces and a new /tmp over the same tree.
"""

import os
from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from donewhen.errors import MachineryBroke
from donewhen.records import frozen
from donewhen.workspace.process.command import Command, Confinement, Finished, OutputListeners
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.process.launcher import kernel
from donewhen.workspace.process.output import KEEP_BYTES, Watch
from donewhen.workspace.sandbox import bubblewrap, env_vars, home, machine, view
from donewhen.workspace.sandbox.config import SandboxConfig
from donewhen.workspace.sandbox.guest import ADDRESS, NO_GUEST, Guest
from donewhen.workspace.sandbox.level import Level, SandboxProbe
from donewhen.workspace.sandbox.limits import OOM_SCORE

if TYPE_CHECKING:
    from socket import socket

    from donewhen.workspace.sandbox.relay import RelayService
    from donewhen.workspace.sandbox.seccomp import ObservedCalls

# Imported on use, because only some sandboxes need them: `relay`, `landlock`, `seccomp`.

OF_A_GUEST = ("PATH", "PYTHONNOUSERSITE")
"""A guest program is found and started with its own values of these variables, not with those of a tree."""


@frozen
class SandboxTree:
    """A tree as a sandbox needs it: its path inside, its layers, and the host paths that must be hidden."""

    root: str
    """The path of the tree as the command sees it."""
    layers: tuple[view.Bind | view.Overlay, ...]
    hidden: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    scratch: str = ""
    """A private writable directory on the host, for isolation levels that cannot mount one."""

    def read_only(self) -> "SandboxTree":
        """Return the same tree, so that no command can write to it."""
        return replace(
            self, layers=tuple(_read_only(layer) if layer.at == self.root else layer for layer in self.layers)
        )


def _read_only(layer: view.Bind | view.Overlay) -> view.Bind | view.Overlay:
    return replace(layer, writable=False) if isinstance(layer, view.Bind) else replace(layer, read_only=True)


@frozen(kw_only=True)
class ShellCommand:
    """One line for /bin/sh -c, run in the root of the tree or in a directory below it."""

    text: str
    dir: str = "."
    timeout_secs: float | None = None
    stdin: bytes = b""
    spool: Path | None = None
    merge_stderr: bool = True
    keep_bytes: int = KEEP_BYTES
    """The number of output bytes kept from the beginning, and again from the end."""
    observe: "ObservedCalls | None" = None
    """Which calls an observer records. Only bubblewrap sandboxes can be observed."""


class Sandbox(Protocol):
    async def run(
        self, command: ShellCommand, stdout: Watch | None = None, stderr: Watch | None = None
    ) -> Finished: ...

    def with_guest(self, guest: Guest) -> "Sandbox":
        """Return a sandbox of the same tree with the same isolation, with the additions that a guest program gets."""
        ...


class TreeSandbox:
    """The sandbox of one tree."""

    def __init__(
        self,
        launcher: Launcher,
        probe: SandboxProbe,
        tree: SandboxTree,
        config: SandboxConfig,
        guest: Guest = NO_GUEST,
    ) -> None:
        self._launcher = launcher
        self._probe = probe
        self._tree = tree
        self._config = config
        self._services = config.services
        self._inner_ports = guest.inner_ports
        # Without a mount namespace the command has no private /tmp.
        scratch = {"TMPDIR": tree.scratch} if probe.level is Level.LANDLOCK else {}
        self._env = env_vars.command_environment(os.environ, config.env, {**scratch, **guest.env})

    def with_guest(self, guest: Guest) -> "TreeSandbox":
        if self._probe.level is not Level.BUBBLEWRAP:
            raise MachineryBroke("an agent can be confined only by bubblewrap, which does not work on this machine")
        layers = (self._add_layer(guest.beneath, layer) for layer in self._tree.layers)
        variables = {name: value for name, value in self._tree.variables.items() if name not in OF_A_GUEST}
        place = replace(self._tree, layers=(*layers, *guest.binds), variables=variables)
        return TreeSandbox(self._launcher, self._probe, place, replace(self._config, network=False), guest)

    def _add_layer(self, beneath: str, layer: view.Bind | view.Overlay) -> view.Bind | view.Overlay:
        """Add a layer at the bottom of the tree's overlay. A tree that is a copy has no layers and stays as it is."""
        if not beneath or layer.at != self._tree.root or isinstance(layer, view.Bind):
            return layer
        return replace(layer, lower=(*layer.lower, os.path.relpath(beneath, layer.directory)))

    async def run(self, command: ShellCommand, stdout: Watch | None = None, stderr: Watch | None = None) -> Finished:
        cwd = str(Path(self._tree.root, command.dir))
        prepared = self._prepare(command, cwd)
        if not self._has_openings:
            return await self._launcher.run(prepared, OutputListeners(stdout=stdout, stderr=stderr))
        finished: Finished | None = None
        async with anyio.create_task_group() as tasks:

            def serve_listeners(listening: "list[socket]") -> None:
                relayed = listening[: len(listening) - len(self._inner_ports)]
                for inner_port, listener in zip(self._inner_ports, listening[len(relayed) :], strict=True):
                    tasks.start_soon(inner_port.serve, listener)
                if relayed:
                    from donewhen.workspace.sandbox import relay

                    tasks.start_soon(relay.serve, self._services, relayed)

            finished = await self._launcher.run(
                prepared, OutputListeners(stdout=stdout, stderr=stderr, listeners=serve_listeners)
            )
            tasks.cancel_scope.cancel()
        assert finished is not None
        return finished

    @property
    def _has_openings(self) -> bool:
        return bool(self._services or self._inner_ports)

    def _prepare(self, command: ShellCommand, cwd: str) -> Command:
        if self._probe.level is Level.BUBBLEWRAP:
            confinement = self._observed(command.observe) if command.observe else self._bubblewrap
        elif self._probe.level is Level.LANDLOCK:
            confinement = self._landlock()
        else:
            confinement = self._with_limits(Confinement())
        return Command(
            argv=["/bin/sh", "-c", command.text],
            cwd=cwd,
            env=self._env,
            variables=self._tree.variables,
            stdin=command.stdin,
            timeout_secs=command.timeout_secs,
            merge_stderr=command.merge_stderr,
            keep_bytes=command.keep_bytes,
            spool=command.spool,
            confinement=confinement,
        )

    @cached_property
    def _bubblewrap(self) -> Confinement:
        """The confinement of every command in this sandbox. Cached, because it is expensive to compute."""
        from donewhen.workspace.sandbox import seccomp

        assert self._probe.bwrap is not None
        config, user_home = self._config, self._env["HOME"]
        wanted = view.ViewRequest(
            home=Path(user_home),
            path=self._env["PATH"],
            tree=self._tree.layers,
            hidden=self._tree.hidden,
            shown=(*config.sockets, *_name_service(config.network)),
            files={**accounts(user_home), "/etc/hosts": _hosts(self._services)},
            scratch_bytes=config.limits.scratch,
        )
        return self._with_limits(
            Confinement(
                sandbox=bubblewrap.command_line(self._probe.bwrap, config.network or self._has_openings),
                mounts=view.of_machine(wanted),
                layers=tuple(layer.step() for layer in wanted.tree),
                own_directory=view.OWN_DIRECTORY,
                private_net=self._has_openings and not config.network,
                addresses=tuple(address for service in self._services for address in service.addresses),
                listen=(*_listeners(self._services), *((ADDRESS, inner_port.port) for inner_port in self._inner_ports)),
                # Abstract sockets belong to a network namespace; if the host's is shared, only Landlock hides them.
                landlock=_scopes(self._probe.landlock_abi) if config.network else None,
                memory_files=(seccomp.program(kernel.machine()),),
            )
        )

    def _observed(self, calls: "ObservedCalls") -> Confinement:
        from donewhen.workspace.sandbox import seccomp

        return replace(self._bubblewrap, observe=seccomp.observing(kernel.machine(), calls))

    def _landlock(self) -> Confinement:
        from donewhen.workspace.sandbox import landlock, seccomp

        if self._services or self._config.sockets:
            raise MachineryBroke(
                "workspace.reach and workspace.sockets need bubblewrap, which does not work on this machine"
            )
        user_home = Path(self._env["HOME"])
        toolchains = home.toolchains(user_home, home.search_path(self._env["PATH"]))
        binds = [layer for layer in self._tree.layers if isinstance(layer, view.Bind)]
        allowed = landlock.Allowed(
            network=self._config.network,
            readable=(*map(str, toolchains), *(layer.source for layer in binds if not layer.writable)),
            writable=(*(layer.source for layer in binds if layer.writable), self._tree.scratch),
            closed=(*machine.private_paths(), *map(str, home.secrets(user_home, toolchains))),
        )
        families = (seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK) if self._config.network else ()
        confinement = Confinement(
            landlock=landlock.ruleset(self._probe.landlock_abi, allowed),
            seccomp=seccomp.program(kernel.machine(), families, own_namespaces=False),
        )
        return self._with_limits(confinement)

    def _with_limits(self, confinement: Confinement) -> Confinement:
        limits = self._config.limits
        return replace(
            confinement,
            rlimits=limits.rlimits(),
            oom_score_adj=OOM_SCORE,
            watch=limits.watch(self._tree.scratch or "/"),
        )


def _scopes(abi: int) -> Mapping[str, Any] | None:
    from donewhen.workspace.sandbox import landlock

    return landlock.scopes(abi)


def accounts(user_home: str) -> dict[str, str]:
    """Return /etc/passwd and /etc/group for the inside: the machine's, with our own account for the user id inside."""
    user, uid, gid = env_vars.USER, bubblewrap.UID, bubblewrap.GID
    ours = {"/etc/passwd": f"{user}:x:{uid}:{gid}::{user_home}:/bin/sh\n", "/etc/group": f"{user}:x:{gid}:\n"}
    return {path: _without_id(_text(path), uid) + line for path, line in ours.items()}


def _without_id(table: str, number: int) -> str:
    lines = table.splitlines(keepends=True)
    return "".join(line for line in lines if line.split(":")[2:3] != [str(number)])


def _hosts(services: "tuple[RelayService, ...]") -> str:
    if not services:
        return _text("/etc/hosts")
    from donewhen.workspace.sandbox import relay

    # The first line wins: a reachable service's name must mean its stand-in, whatever the host's file says.
    return relay.hosts_lines(services) + _text("/etc/hosts")


def _listeners(services: "tuple[RelayService, ...]") -> tuple[tuple[str, int], ...]:
    if not services:
        return ()
    from donewhen.workspace.sandbox import relay

    return relay.listeners(services)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="surrogateescape")
    except OSError:
        return ""


def _name_service(network: bool) -> tuple[str, ...]:
    """Return the resolver's file if the network is shared: /etc/resolv.conf often links into an emptied directory."""
    target = os.path.realpath("/etc/resolv.conf")
    return (target,) if network and target != "/etc/resolv.conf" and os.path.exists(target) else ()
