"""A piece of honest work in a scene, as a record. Nothing here runs anything."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cheat import Scene, Tree
from cheat_scenes import PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    says: str
    scene: Scene = PLAIN
    write: Tree = field(default_factory=dict[str, str | bytes])
    edit: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    shell: str = ""
    set_aside: tuple[str, ...] = ()
    """Paths that are restored from the base and named."""
    needs_person: bool = False
    """True if the work is green only with the paths that are set aside."""
