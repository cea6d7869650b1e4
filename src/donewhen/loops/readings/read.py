"""One reading by its name. Raises a `DonewhenError` if it cannot be read."""

from donewhen.loops.spec import LoopSpec, Reading
from donewhen.session.workplace import Workplace


async def read(reading: Reading, workplace: Workplace, spec: LoopSpec) -> str:
    """Return what the runtime reads for a loop; empty if there is nothing."""
    # Each is loaded on use: a loop needs one or two of them.
    match reading:
        case Reading.BRANCHES:
            from donewhen.loops.readings.branches import read_branches

            return await read_branches(workplace)
        case Reading.FLAKY_CHECKS:
            from donewhen.loops.readings.flaky_checks import read_flaky_checks

            return read_flaky_checks(workplace)
        case Reading.OPEN_ISSUES | Reading.OPEN_PULLS | Reading.FAILED_CI:
            from donewhen.loops.readings.forge_items import read_from_forge

            return await read_from_forge(reading, workplace, spec)
