"""Creates a tree from another one with some paths changed. It reads and writes only the directories above those paths.

It needs no index and no files on disk, so the cost depends on the changes and not on the size of the tree. The caller
decides which paths change.
"""

from collections.abc import Iterable, Mapping

from donewhen.errors import MachineryBroke
from donewhen.workspace.git.objects import (
    FILE,
    PROGRAM,
    TREE,
    Entries,
    TreeEntry,
    parents,
    parse_ls_tree,
    tree_content,
    tree_entries,
)
from donewhen.workspace.git.store.bare import Bare

Changes = Mapping[bytes, TreeEntry | None]


async def with_changes(bare: Bare, tree: str, entries: Changes) -> str:
    """Return the tree in which each path has the given entry. None removes a file.

    A new entry replaces what is in its way: a file above it becomes a directory, a directory at its path is removed.
    """
    if not entries:
        return tree
    files = {path for path, entry in entries.items() if entry is not None}
    if any(above in files for path in files for above in parents(path)):
        raise ValueError("a path cannot be a file and a directory")
    held = await _directories(bare, tree, {above for path in entries for above in parents(path)})
    for path, entry in sorted(entries.items(), key=lambda item: (item[1] is not None, item[0])):
        _put(held, path, entry)
    return _store(bare, held)


async def _directories(bare: Bare, tree: str, paths: Iterable[bytes]) -> dict[bytes, Entries]:
    """Return those paths that are directories in the tree, with their entries, with one git process."""
    wanted = sorted(paths)
    expressions = [b"%s:%s" % (tree.encode(), path) for path in wanted]
    answer = await bare.run("cat-file", "--batch", "--buffer", "-z", stdin=b"".join(one + b"\0" for one in expressions))
    found: dict[bytes, Entries] = {}
    at = 0
    for path, one in zip(wanted, expressions, strict=True):
        missing = one + b" missing\n"
        if answer.startswith(missing, at):  # git repeats the name unchanged, including line ends
            at += len(missing)
            continue
        end = answer.index(b"\n", at)
        _, kind, size = answer[at:end].split(b" ")
        at = end + 1 + int(size) + 1
        if kind == b"tree":
            found[path] = tree_entries(answer[end + 1 : at - 1], bare.object_format)
    if b"" not in found:
        raise MachineryBroke(f"tree {tree} is missing in the store")
    return found


def _put(directories: dict[bytes, Entries], path: bytes, entry: TreeEntry | None) -> None:
    above, _, name = path.rpartition(b"/")
    if entry is None:
        before = directories.get(above, {}).get(name)
        if before is not None and before.mode != TREE:
            del directories[above][name]
        return
    _create_parents(directories, path)
    before = directories[above].get(name)
    if path in directories or (before is not None and before.mode == TREE):
        for directory in [known for known in directories if known == path or known.startswith(path + b"/")]:
            del directories[directory]
    directories[above][name] = entry


def _create_parents(directories: dict[bytes, Entries], path: bytes) -> None:
    """Create missing directories above a path. The topmost missing one replaces a file or nothing."""
    for directory in parents(path):
        if directory in directories:
            return
        directories[directory] = {}
        above, _, name = directory.rpartition(b"/")
        directories.get(above, {}).pop(name, None)


def _store(bare: Bare, directories: dict[bytes, Entries]) -> str:
    """Write the directories, the deepest first. Empty ones are left out."""
    for directory in sorted(directories, key=lambda path: -path.count(b"/") if path else 1):
        if not directory:
            continue
        above, _, name = directory.rpartition(b"/")
        directories[above].pop(name, None)
        if directories[directory]:
            directories[above][name] = TreeEntry(TREE, bare.write("tree", tree_content(directories[directory])))
    return bare.write("tree", tree_content(directories[b""]))


async def file_in(bare: Bare, tree: str, path: str) -> tuple[TreeEntry, bytes] | None:
    """Return a file of a tree with its content; None if there is no such file or it is too large to read."""
    answer = await bare.run("ls-tree", "-z", "--full-tree", tree, "--", path)
    entry = next((entry for _, entry in parse_ls_tree(answer) if entry.mode in (FILE, PROGRAM)), None)
    content = (await bare.readable_contents([entry.id]))[0] if entry is not None else None
    return (entry, content) if entry is not None and content is not None else None


async def commit_like(bare: Bare, commit: str, tree: str) -> str:
    """Write a commit of another tree with the same author, committer and message, but without parents."""
    (about,) = await bare.contents([commit])
    head, _, message = about.partition(b"\n\n")
    who = [line for line in head.split(b"\n") if line.startswith((b"author ", b"committer "))]
    return bare.write("commit", b"\n".join([b"tree " + tree.encode(), *who]) + b"\n\n" + message)
