"""The files that setup commands see for a candidate: the base's, with those of the candidate that are accepted data.

Setup commands may have network access, and they execute files of the tree: setup.py, build.gradle, mix.exs, scripts of
a package.json. So this is an allow-list. A changed lock file, list of requirements or manifest counts if what it adds
comes from a registry. Everything else, known or unknown, is the base's. If one file of a language is not accepted, none
of that language is, because its files must fit together.
"""

from collections import defaultdict

from donewhen.judge.protect.contents import setup_manifests
from donewhen.judge.protect.contents.accepted_part import ALL, NOTHING, AcceptedPart, FileUnreadable
from donewhen.judge.protect.contents.json_text import read_json
from donewhen.judge.protect.contents.locks import lock_files
from donewhen.judge.protect.contents.package_json import NODE_DEPENDENCIES
from donewhen.judge.protect.contents.table_merge import table
from donewhen.judge.protect.names.mixed_files import is_lock, is_requirements
from donewhen.judge.protect.rules.guard import Guard
from donewhen.workspace.git.objects import FILE, PROGRAM, Change, TreeEntry, parents, raw, text
from donewhen.workspace.git.store import Store, edit_tree

LANGUAGES = {
    "js": "package.json package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml",
    "python": "pyproject.toml setup.cfg uv.lock poetry.lock pdm.lock Pipfile Pipfile.lock",
    "rust": "Cargo.toml Cargo.lock",
    "go": "go.mod go.sum go.work.sum",
    "ruby": "Gemfile Gemfile.lock",
    "php": "composer.json composer.lock",
    "java": "pom.xml",
}
LANGUAGE_OF = {name: language for language, names in LANGUAGES.items() for name in names.split()}
CHECKSUMS = ("go.sum", "go.work.sum")
NEW_MEMBER = "package.json"
"""The only manifest that is of use in a new directory. Other tools also need the sources there, which are not shown."""


async def setup_tree(store: Store, base_tree: str, candidate_tree: str, guard: Guard) -> str:
    """Return the tree that setup commands see."""
    changes = [change for change in await store.diff(base_tree, candidate_tree) if _is_data(change, guard)]
    wanted = [entry.id for change in changes for entry in (change.old, change.new) if entry]
    contents = dict(zip(wanted, await store.bare.readable_contents(wanted), strict=True))
    seen: dict[str, dict[bytes, TreeEntry | None]] = defaultdict(dict)
    rejected: set[str] = set()
    for change in changes:
        old, new = (contents[entry.id] if entry else b"" for entry in (change.old, change.new))
        is_readable = old is not None and new is not None
        found = _accepted_part(change, old or b"", new or b"", guard) if is_readable else NOTHING
        if found.none:
            rejected.add(_language(change.path))
            continue
        blob = (change.new or TreeEntry(FILE, "")).id
        blob = blob if found.content is None else store.bare.write("blob", found.content)
        seen[_language(change.path)][raw(change.path)] = TreeEntry(FILE, blob)
    accepted = (files for language, files in seen.items() if language not in rejected)
    return await edit_tree.with_changes(
        store.bare, base_tree, {path: entry for files in accepted for path, entry in files.items()}
    )


def _language(path: str) -> str:
    """Return which files must fit together with this one; empty if it is not data. A list of requirements is alone."""
    return LANGUAGE_OF.get(path.rpartition("/")[2]) or (path if is_requirements(path) else "")


def _is_data(change: Change, guard: Guard) -> bool:
    """Return True if a change may concern setup commands: an existing data file, or a new one where that is of use."""
    path, exists = change.path, change.old is not None
    are_files = all(entry is None or entry.mode in (FILE, PROGRAM) for entry in (change.old, change.new))
    if not _language(path) or change.new is None or not are_files or guard.reason(path, exists):
        return False
    name = path.rpartition("/")[2]
    is_useful = exists or is_lock(path) or name in (*CHECKSUMS, NEW_MEMBER)
    return is_useful and not any(guard.base.has(text(above)) for above in parents(raw(path)))


def _accepted_part(change: Change, old: bytes, new: bytes, guard: Guard) -> AcceptedPart:
    words = guard.scripts_run.words
    if change.path.rpartition("/")[2] in CHECKSUMS:
        return ALL
    if is_lock(change.path):
        return lock_files.accepted_part(change.path, old, new, registries_only=True)
    if change.old is None:
        return setup_manifests.new_package(new, _known_packages(guard), words)
    return setup_manifests.accepted_part(change.path, old, new, words)


def _known_packages(guard: Guard) -> set[str]:
    """Return the names of the Node packages that the project itself asks for."""
    try:
        manifest = read_json(guard.base.read(NEW_MEMBER) or "")
    except FileUnreadable:
        return set()
    return {name for kind in NODE_DEPENDENCIES for name in table(manifest.get(kind))}
