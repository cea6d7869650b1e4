"""What a person may say about the wall. `room` obeys it; that nothing has to run to know it is why it stands alone."""

from dataclasses import field
from typing import TYPE_CHECKING

from donewhen.records import frozen
from donewhen.workspace.sandbox.limits import Limits

if TYPE_CHECKING:
    from donewhen.workspace.sandbox.relay import Service


@frozen(kw_only=True)
class RoomConfig:
    """The part of `[workspace]` that shapes the wall."""

    network: bool = False
    services: "tuple[Service, ...]" = ()
    sockets: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
