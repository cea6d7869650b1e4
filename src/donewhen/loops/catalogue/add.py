"""The ready-made loops as a list, and the chosen one as a file of the repository. A file that exists is never changed.

What is written is trusted as it is: the person who chose the loop reads what it asks for in the answer.
"""

import os
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import Any

from donewhen.errors import BadInput
from donewhen.loops.catalogue.facts import RepositoryFacts, facts_of
from donewhen.loops.catalogue.loop_file import text_of
from donewhen.loops.catalogue.ready_loops import READY_LOOPS, ready_loop
from donewhen.loops.spec import NAME, spec_of
from donewhen.loops.spec_files import usable_loops
from donewhen.printable import shortened
from donewhen.session.settings import settings as settings_module
from donewhen.session.settings.loop_tables import DIRECTORY, ENDING
from donewhen.session.settings.trust import TrustBook
from donewhen.toml import parse_toml
from donewhen.workspace.beneath import Root
from donewhen.workspace.git.repo import open_repo
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.state_dir import state_root


async def catalogue(start: Path) -> dict[str, Any]:
    """Return the ready-made loops as they would be here, and which forge they would use."""
    top, facts = await _repository(start)
    there = {loop.spec.name for loop in usable_loops(top, _trust())[0]}
    rows: list[dict[str, Any]] = []
    for ready in READY_LOOPS.values():
        row = {"name": ready.name, "what": ready.what, "schedule": ready.schedule, "is_added": ready.name in there}
        try:
            draft = ready.draft(facts)
        except BadInput as error:
            rows.append({**row, "level": None, "action": None, "missing": str(error)})
            continue
        rows.append({**row, "level": draft.level.value, "action": draft.action.value, "missing": ""})
    return {"loops": rows, "forge": facts.forge, "no_forge": facts.no_forge}


async def add(start: Path, name: str, as_name: str = "") -> dict[str, Any]:
    """Write a ready-made loop into the repository that contains `start`. Return what was written."""
    ready, loop = ready_loop(name), as_name or name
    if not NAME.fullmatch(loop):
        raise BadInput(
            f"the name of a loop has 1 to 64 small letters, digits, '.', '_' or '-'; this has not: {shortened(loop)!r}"
        )
    top, facts = await _repository(start)
    file = top / DIRECTORY / f"{loop}{ENDING}"
    if os.path.lexists(file):
        raise BadInput(f"{file} is there already; another name: donewhen loop add {name} --as OTHER_NAME")
    for stated in usable_loops(top, _trust())[0]:
        if stated.spec.name == loop:
            raise BadInput(f"{stated.file} has a loop '{loop}' already; another name: --as OTHER_NAME")
    try:
        draft = ready.draft(facts)
    except BadInput as error:
        raise BadInput(f"{name} {error}") from error
    text = text_of(ready, draft, loop)
    table = parse_toml(text)
    spec = spec_of({"name": loop, **table}, "")
    _write(top, file, text.encode())
    return {
        "name": loop,
        "file": str(file),
        "level": spec.level.value,
        "schedule": spec.schedule.text,
        "words": spec.schedule.words,
        "action": str(spec.action),
        "inputs": [{"name": one.name, "comment": one.comment} for one in draft.inputs],
        "filled": [asdict(one) for one in draft.filled],
        "trusted": [widening.key for widening in settings_module.widening_keys_of_loop(table)],
        "budget": dict(ready.budget),
    }


async def _repository(start: Path) -> tuple[Path, RepositoryFacts]:
    async with Launcher.open() as launcher:
        repo = await open_repo(launcher, start)
        settings = settings_module.load(repo.root, repo.root, os.environ, _trust())
        return repo.root, facts_of(repo, settings, os.environ)


def _trust() -> TrustBook:
    return TrustBook(state_root(os.environ))


def _write(top: Path, file: Path, content: bytes) -> None:
    """Write a new file and trust it. It appears complete or not at all."""
    temporary = f".{file.name}.{uuid.uuid4().hex[:8]}"
    try:
        with Root(top).above(f"{DIRECTORY}/{file.name}", make=True) as (above, name):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(temporary, flags, 0o666, dir_fd=above), "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            try:
                os.link(temporary, name, src_dir_fd=above, dst_dir_fd=above)
            finally:
                os.unlink(temporary, dir_fd=above)
    except FileExistsError:
        raise BadInput(f"{file} is there already; nothing was written") from None
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}") from error
    _trust().accept(Path(os.path.realpath(file)), content)
