"""Protection: what is judged (J) out of what was made (C). Changes that are not graded are listed, never dropped.

    sorting                  the changes of a candidate: graded, or put back
    guard                    the rules about a path; also asked while a check runs
    globs testfiles names    patterns, what a test is, what configures or starts checks
    commands executed        which scripts of the base the checks run, found by reading
    handed                   which files a command gives to a test runner
    suite instead            what the base's settings call tests; what would be taken instead of something
    mixed inside             files of which some is product and some is not: manifests, tests in sources
    linewise                 lines on which all readers of a text agree
    shadows                  new modules that would be imported instead of others

Costs as much as the changes, whatever the size of the repository. Nothing is run here, and nothing of the candidate is
believed: it is read as data.
"""

from collections.abc import Sequence
from pathlib import Path

from donewhen.judge.contract import Contract
from donewhen.judge.judged import Judged
from donewhen.judge.protect.guard import Guard
from donewhen.judge.protect.shadows import Shadows
from donewhen.judge.protect.sorting import Sorting
from donewhen.workspace.beneath import Root
from donewhen.workspace.objects import Change, raw
from donewhen.workspace.store import Store, edit

__all__ = ["Guard", "Judged", "judged"]


async def judged(
    store: Store,
    base_commit: str,
    candidate_tree: str,
    contract: Contract,
    base_files: Root,
    sites: Sequence[Path],
    guard: Guard | None = None,
) -> Judged:
    """What is judged of a candidate. `base_files` holds the base's files, `sites` the installed Python packages."""
    base_tree = await store.tree_of(base_commit)
    guard = guard or Guard(contract, base_files)
    changes = {raw(change.path): change for change in await store.diff(base_tree, candidate_tree)}
    sorting = Sorting(guard, changes)
    sorting.by_name()
    await sorting.by_content(store)
    sorting.clear_the_way()
    tree = await edit.with_changes(store.bare, candidate_tree, sorting.put_back)
    kept = sorting.kept()
    control = await edit.with_changes(
        store.bare, base_tree, {path: kept[path] for path in kept if _is_judging(guard, changes[path])}
    )
    added = [changes[path].path for path, entry in kept.items() if entry is not None and changes[path].old is None]
    return Judged(
        tree,
        tuple(sorting.edits[path] for path in sorted(sorting.edits)),
        control,
        Shadows(guard.base, sites, guard.suite.homes | guard.suite.beside).among(added),
    )


def _is_judging(guard: Guard, change: Change) -> bool:
    """Whether a change that is graded concerns tests, or what would be protected were it not editable."""
    if guard.suite.is_test(change.path):
        return True
    return guard.is_editable(change.path) and bool(guard.by_default(change.path, change.old is not None))
