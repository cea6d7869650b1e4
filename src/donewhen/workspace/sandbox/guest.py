"""A guest program, which gets more than the commands of a tree: its own files, variables and inner ports.

For example, another vendor's agent. It sees the same tree with the same isolation, in a private network. The only ways
out are inner ports: listening sockets created inside that network and served from outside by the caller's code.
"""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from donewhen.records import frozen
from donewhen.workspace.sandbox.view import Bind, Overlay

if TYPE_CHECKING:
    from socket import socket

ADDRESS = "127.0.0.1"


@frozen
class InnerPort:
    """A port on the loopback inside, and the function that serves it until cancelled."""

    port: int
    serve: "Callable[[socket], Coroutine[Any, Any, None]]"


@frozen(kw_only=True)
class Guest:
    binds: tuple[Bind | Overlay, ...] = ()
    """Mounted on top of the tree, in this order."""
    beneath: str = ""
    """A directory whose files appear in the tree where it has no file of that name. The candidate excludes them."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    inner_ports: tuple[InnerPort, ...] = ()


NO_GUEST = Guest()
