"""Compares two versions of a lock file: no known dependency, and no test tool, may come from another source.

New versions, new names from a registry and removed names are ordinary work. With `registries_only`, as setup commands
see the files, a new name must come from a registry as well, or from a place that the base already uses.

A changed lock file is accepted as a whole or not at all. A file that cannot be read is not accepted.
"""

from collections import defaultdict
from collections.abc import Iterator

from donewhen.judge.protect.contents.accepted_part import ALL, AcceptedPart, FileUnreadable
from donewhen.judge.protect.contents.locks.node_locks import package_lock, pnpm_lock, yarn_lock
from donewhen.judge.protect.contents.locks.other_locks import cargo_lock, composer_lock, gemfile_lock
from donewhen.judge.protect.contents.locks.python_locks import pdm_lock, pipfile_lock, poetry_lock, uv_lock
from donewhen.judge.protect.contents.locks.requirements import requirements
from donewhen.judge.protect.contents.locks.sources import PACKAGIST, PUBLIC, LockReader, LockSource
from donewhen.judge.protect.names.judging_tools import TOOLS

Locked = dict[str, set[LockSource]]
MOST_NAMED, LONGEST_NAME = 5, 100
"""Limits of what a reason says about replaced dependencies."""
READERS: dict[str, LockReader] = {
    "package-lock.json": package_lock,
    "npm-shrinkwrap.json": package_lock,
    "yarn.lock": yarn_lock,
    "pnpm-lock.yaml": pnpm_lock,
    "uv.lock": uv_lock,
    "poetry.lock": poetry_lock,
    "pdm.lock": pdm_lock,
    "Pipfile.lock": pipfile_lock,
    "Cargo.lock": cargo_lock,
    "Gemfile.lock": gemfile_lock,
    "composer.lock": composer_lock,
}


def accepted_part(
    path: str, base: bytes | None, candidate: bytes | None, registries_only: bool = False
) -> AcceptedPart:
    """Return if a changed lock file or list of requirements is accepted. None stands for a missing file."""
    reader = READERS.get(path.rpartition("/")[2], requirements)
    if candidate is None:
        return ALL
    try:
        old, new = _locked(reader, base or b""), _locked(reader, candidate)
    except FileUnreadable:
        return AcceptedPart(none=True, reason="cannot be read as a list of dependencies")
    replaced = sorted(_replaced(old, new, registries_only))
    if not replaced:
        return ALL
    named = ", ".join(name[:LONGEST_NAME] for name in replaced[:MOST_NAMED])
    more = f" and {len(replaced) - MOST_NAMED} more" if len(replaced) > MOST_NAMED else ""
    return AcceptedPart(none=True, reason=f"takes {named}{more} from another source than the base")


def _locked(reader: LockReader, content: bytes) -> Locked:
    found: Locked = defaultdict(set)
    try:
        for name, source in reader(content.decode()):
            found[name].add(source)
    except (UnicodeDecodeError, RecursionError) as error:
        raise FileUnreadable from error
    return found


def _replaced(old: Locked, new: Locked, registries_only: bool) -> Iterator[str]:
    used = {PUBLIC}.union(*old.values())
    for name, sources in new.items():
        added = sources - old.get(name, set())
        others = {source for source in added if not _is_ordinary(source, used)}
        is_guarded = name in TOOLS or any(source.kind == "option" for source in others)
        if (added and name in old) or (others and is_guarded) or (registries_only and others - used):
            yield name
    yield from (name for name in old.keys() - new.keys() if any(source.kind == "option" for source in old[name]))


def _is_ordinary(source: LockSource, used: set[LockSource]) -> bool:
    """Return True for a registry that a new name may come from: the public one, or one that the base uses."""
    return source.kind == "registry" and (source in used or source.place.startswith(PACKAGIST))
