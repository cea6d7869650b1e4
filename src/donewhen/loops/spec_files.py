"""The loops of a repository, by name, and whether a person has accepted what they ask for."""

from pathlib import Path

from donewhen.errors import BadInput, NeedsPerson
from donewhen.loops.spec import LoopSpec, spec_of
from donewhen.printable import shortened
from donewhen.records import frozen
from donewhen.session.settings.loop_tables import loop_tables
from donewhen.session.settings.trust import TrustBook


@frozen
class StatedLoop:
    """A loop and where it is stated."""

    spec: LoopSpec
    file: Path
    widening: tuple[str, ...]
    """Keys that reach or spend more than the defaults."""
    is_trusted: bool
    """True if a person accepted this content of the file, or if nothing in it needs that."""

    def require_trust(self) -> None:
        if not self.is_trusted:
            asks = f"'{self.widening[0]}' asks for more than the default"
            raise NeedsPerson(f"{self.file}: {asks}; read it, then run: donewhen trust")


def read_loops(top: Path, trust: TrustBook) -> tuple[StatedLoop, ...]:
    """Return the loops of the repository at `top`, by name. Raise BadInput for an invalid or repeated one."""
    found: dict[str, StatedLoop] = {}
    for table in loop_tables(top):
        try:
            spec = spec_of(table.entry, table.above)
        except BadInput as error:
            raise BadInput(f"{table.file}: {error}") from error
        if spec.name in found:
            raise BadInput(f"{table.file}: the loop '{spec.name}' is also in {found[spec.name].file}")
        is_trusted = not table.widening or trust.holds(table.real, table.written)
        found[spec.name] = StatedLoop(spec, table.file, tuple(one.key for one in table.widening), is_trusted)
    return tuple(found[name] for name in sorted(found))


def loop_named(loops: tuple[StatedLoop, ...], name: str) -> StatedLoop:
    for loop in loops:
        if loop.spec.name == name:
            return loop
    known = ", ".join(loop.spec.name for loop in loops)
    raise BadInput(f"there is no loop {shortened(name)!r}; " + (f"there are: {known}" if known else "there are none"))
