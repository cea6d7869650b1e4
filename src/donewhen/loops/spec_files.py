"""The loops of a repository, by name, and whether a person has accepted what they ask for."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from donewhen.errors import BadInput, NeedsPerson
from donewhen.loops.spec import LoopSpec, spec_of
from donewhen.printable import shortened
from donewhen.records import frozen
from donewhen.session.settings.loop_tables import tables_or_errors
from donewhen.session.settings.trust import TrustBook


@frozen
class StatedLoop:
    """A loop and where it is stated."""

    spec: LoopSpec
    file: Path
    widening: tuple[str, ...]
    """Keys that reach or spend more than the defaults."""
    is_accepted: bool
    """True if a person accepted this content of the file. A scheduler runs no other loop."""
    top: Path
    """The repository."""
    entry: Mapping[str, Any]
    """The table as the file states it."""

    @property
    def is_trusted(self) -> bool:
        """Return True if a person may run it: the file was accepted, or nothing in it needs that."""
        return self.is_accepted or not self.widening

    def require_trust(self) -> None:
        if not self.is_trusted:
            asks = f"'{self.widening[0]}' asks for more than the default"
            raise NeedsPerson(f"{self.file}: {asks}; read it, then run: donewhen trust")


def usable_loops(top: Path, trust: TrustBook) -> tuple[tuple[StatedLoop, ...], tuple[BadInput, ...]]:
    """Return the sound loops of the repository at `top`, by name, and what is wrong with the others."""
    found: dict[str, StatedLoop] = {}
    stated_twice: set[str] = set()
    errors: list[BadInput] = []
    for table in tables_or_errors(top):
        if isinstance(table, BadInput):
            errors.append(table)
            continue
        try:
            spec = spec_of(table.entry, table.above)
            if spec.name in found:
                stated_twice.add(spec.name)
                raise BadInput(f"the loop '{spec.name}' is also in {found[spec.name].file}")
        except BadInput as error:
            errors.append(BadInput(f"{table.file}: {error}"))
            continue
        is_accepted = trust.holds(table.real, table.written)
        widening = tuple(one.key for one in table.widening)
        found[spec.name] = StatedLoop(spec, table.file, widening, is_accepted, top, table.entry)
    return tuple(found[name] for name in sorted(found.keys() - stated_twice)), tuple(errors)


def loop_named(loops: tuple[StatedLoop, ...], name: str) -> StatedLoop:
    known = {loop.spec.name: loop for loop in loops}
    if name in known:
        return known[name]
    similar = difflib.get_close_matches(name, known, 1, cutoff=0.7)
    there = (
        f"did you mean {similar[0]}?" if similar else f"there are: {', '.join(known)}" if known else "there are none"
    )
    raise BadInput(f"there is no loop {shortened(name)!r}; {there}")
