"""Protection: computes the judged tree from the candidate. Changes that are not graded are listed, never dropped.

    base_files   the files of the base, read with a few small queries
    names/       which paths are protected by their names: tests, settings, build files, patterns of the contract
    commands/    which scripts and test files of the base the checks run or name, found by reading the commands
    contents/    files that contain both product and judging parts: manifests, tests inside of source files
    rules/       the decisions: `guard` has the rules about a path, `grade` applies them to the changes of a candidate;
                 `suite` finds what the settings of the base call tests, `step_definitions` what scenarios use;
                 `used_files` and `product` apply what the runs on the base used, `proposed_product` writes it as
                 patterns; `shadow_files`, `shadow_modules` and `ignore_files` find files that would replace or hide
                 others; `setup_files` decides what setup commands see of a candidate

The cost depends on the number of changes, not on the size of the repository. Nothing is run here. Files of the
candidate are read as data and are not trusted.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from donewhen.judge.graded_tree import GradedTree
from donewhen.judge.protect.rules.grade import ChangeGrading, Entries
from donewhen.judge.protect.rules.guard import Guard
from donewhen.judge.protect.rules.shadow_modules import ShadowModules
from donewhen.judge.protect.rules.used_files import UsedFiles
from donewhen.workspace.git.objects import Change, raw, text
from donewhen.workspace.git.store import Store, edit_tree

__all__ = ["GradedTree", "Guard", "UsedFiles", "grade_candidate"]


async def grade_candidate(
    store: Store,
    base_commit: str,
    candidate_tree: str,
    guard: Guard,
    sites: Sequence[Path],
    used: UsedFiles | None = None,
) -> GradedTree:
    """Return the judged tree of a candidate. `sites` are the directories of installed Python packages."""
    base_tree = await store.tree_of(base_commit)
    changes = {raw(change.path): change for change in await store.diff(base_tree, candidate_tree)}
    grading = ChangeGrading(guard, changes)
    grading.by_name()
    if used:
        grading.by_use(used)
    await grading.by_content(store)
    await grading.by_module(store)
    grading.restore_conflicting()
    tree = await edit_tree.with_changes(store.bare, candidate_tree, grading.restored)
    kept = grading.kept()
    new_tests, loaded = await _new_by_pattern(store, guard, changes, kept)
    judging = {path for path in kept if path in new_tests or _is_judging(guard, changes[path])}
    control = await edit_tree.with_changes(store.bare, base_tree, {path: kept[path] for path in judging})
    added = [changes[path].path for path, entry in kept.items() if entry is not None and changes[path].old is None]
    searched = guard.suite.module_directories | guard.suite.argument_directories
    return GradedTree(
        tree,
        tuple(grading.edits[path] for path in sorted(grading.edits)),
        control,
        ShadowModules(guard.base, sites, searched).among(added),
        tuple(text(path) for path in sorted(loaded - judging)),
    )


async def _new_by_pattern(
    store: Store, guard: Guard, changes: Mapping[bytes, Change], kept: Entries
) -> tuple[set[bytes], set[bytes]]:
    """Sort new files that fit a pattern of a command: those that define tests, and others that a runner executes."""
    fitting = {path: entry for path, entry in kept.items() if entry and changes[path].old is None}
    fitting = {path: entry for path, entry in fitting.items() if guard.suite.fits_argument(changes[path].path)}
    contents = await store.bare.readable_contents([entry.id for entry in fitting.values()]) if fitting else []
    tests = {
        path
        for path, content in zip(fitting, contents, strict=True)
        if content is None or guard.suite.defines_tests(changes[path].path, content.decode("utf-8", "replace"))
    }
    return tests, {path for path in fitting if path not in tests and guard.suite.is_loaded(changes[path].path)}


def _is_judging(guard: Guard, change: Change) -> bool:
    """Return True if a graded change concerns tests, or a path that is protected unless it is editable."""
    if guard.suite.is_test(change.path):
        return True
    return guard.is_editable(change.path) and bool(guard.default_reason(change.path, change.old is not None))
