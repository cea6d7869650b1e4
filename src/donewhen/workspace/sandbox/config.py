"""The sandbox settings of a person. A separate module, so that reading them loads nothing that runs commands."""

from dataclasses import field
from typing import TYPE_CHECKING

from donewhen.records import frozen
from donewhen.workspace.sandbox.limits import ResourceLimits

if TYPE_CHECKING:
    from donewhen.workspace.sandbox.relay import RelayService


@frozen(kw_only=True)
class SandboxConfig:
    """The part of `[workspace]` that configures the sandbox."""

    network: bool = False
    services: "tuple[RelayService, ...]" = ()
    sockets: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    limits: ResourceLimits = field(default_factory=ResourceLimits)
