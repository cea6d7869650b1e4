"""A program that is given more than the commands of a tree: files of its own, variables, doors to the world.

Somebody else's agent is one. It sees the same tree behind the same wall; its network is a private one, and the only
ways out are doors: listening sockets made inside it, served from outside by whoever hands them in.
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
class Door:
    """A port on the loopback inside, and who serves it until it is cancelled."""

    port: int
    serve: "Callable[[socket], Coroutine[Any, Any, None]]"


@frozen(kw_only=True)
class Guest:
    binds: tuple[Bind | Overlay, ...] = ()
    """On top of the tree, in this order."""
    beneath: str = ""
    """A directory whose files appear in the tree where it has none of that name. They are no part of what is made."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    doors: tuple[Door, ...] = ()


NO_GUEST = Guest()
