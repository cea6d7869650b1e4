"""What a candidate must not contain: names that a file system may treat as `.git`, links out of the tree, odd files.

Pure functions. Also detects what is allowed but must be shown to a person: files whose presence makes tools run
something.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from donewhen.errors import DonewhenError
from donewhen.workspace.git.objects import RULES, shown, text

LONGEST_PATH = 4096
LARGEST_FILE = 1 << 30
LARGEST_SUM = 4 << 30
LARGEST_RULES = 1 << 20
MOST_HOPS = 40
"""The kernel follows the same number of links."""
IGNORED_BY_HFS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
ENDS_A_NAME_ON_NTFS = re.compile(r"[:\\].*", re.DOTALL)
"""On NTFS, text after a colon names a stream of the same file, and a backslash separates directories."""
EXECUTABLE_NAMES = frozenset({
    ".envrc", ".mcp.json", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".zprofile", ".npmrc",
    ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".tool-versions", "mise.toml", ".mise.toml", ".nvmrc",
    ".python-version", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", ".gdbinit", ".lldbinit", ".vimrc",
    ".exrc", ".nvim.lua", ".dir-locals.el",
})  # fmt: skip
EXECUTABLE_PLACES = frozenset({
    ".vscode", ".idea", ".devcontainer", ".husky", ".githooks", ".zed", ".fleet", ".claude", ".codex", ".gemini",
    ".cursor", ".windsurf", ".continue", ".aider", ".opencode", ".goose",
})  # fmt: skip
GIT_FILES = frozenset({".gitattributes", ".gitmodules"})


class CandidateRefused(DonewhenError):
    """The content of a tree cannot be captured. `offences` has all paths and reasons; the message has the first."""

    def __init__(self, offences: list[tuple[bytes, str]]) -> None:
        path, reason = offences[0]
        more = f" (and {len(offences) - 1} more)" if len(offences) > 1 else ""
        super().__init__(f"{shown(path)} {reason}{more}")
        self.offences = offences

    def named(self, most: int) -> list[dict[str, str]]:
        """Return the first `most` offences as plain data."""
        return [{"path": shown(path), "reason": reason} for path, reason in self.offences[:most]]


def refuse(reasons: Iterable[tuple[bytes, str]]) -> None:
    """Raise `CandidateRefused` if any path has a non-empty reason."""
    offences = sorted({(path, why) for path, why in reasons if why})
    if offences:
        raise CandidateRefused(offences)


def is_flagged(path: bytes) -> bool:
    """Return True if a person should see this change: git's own settings, or configuration that runs something."""
    *above, name = text(path).casefold().split("/")
    return name in GIT_FILES or name in EXECUTABLE_NAMES or not EXECUTABLE_PLACES.isdisjoint(above)


def is_like(name: bytes, plain: str, short: str) -> bool:
    """Return True if a name is `plain`, or some file system treats it so. `short` is its 8.3 form."""
    bare = IGNORED_BY_HFS.sub("", text(name)).casefold()
    first = ENDS_A_NAME_ON_NTFS.sub("", bare)
    return plain in (bare, first.rstrip(" .")) or first.rstrip(" .") == short


def is_dot_git(name: bytes) -> bool:
    return any(is_like(part, ".git", "git~1") for part in name.split(b"\\"))


def wrong_name(path: bytes) -> str:
    """Return why this path is not allowed; empty if it is."""
    if is_dot_git(path.rpartition(b"/")[2]):
        return "is named like a git directory"
    if len(path) > LONGEST_PATH:
        return "has a path that is too long"
    return ""


def wrong_file(path: bytes, kind: str, size: int) -> str:
    """Return why a file of this kind is not allowed; empty if it is."""
    if kind == "other":
        return "is a device, a pipe or a socket"
    if kind == "unreadable":
        return "cannot be read"
    if kind == "file" and size > LARGEST_FILE:
        return f"is larger than {LARGEST_FILE >> 20} MiB"
    if kind == "link" and is_like(path.rpartition(b"/")[2], ".gitmodules", "gitmod~1"):
        return "is a link, which git does not accept for its list of submodules"
    return ""


def wrong_rules(path: bytes, kind: str, size: int) -> str:
    """Return why git must not read this rule file, ignored or not; empty if it may."""
    if path.rpartition(b"/")[2] not in RULES and b"/.git/" not in path:
        return ""
    if kind == "other":
        return "is a device, a pipe or a socket"
    return "is too large for a rule file of git" if kind == "file" and size > LARGEST_RULES else ""


def wrong_link(path: bytes, links: Mapping[bytes, bytes]) -> str:
    """Return why a link leads out of a tree with these links (path → target); empty if it does not."""
    here = path.rpartition(b"/")[0].split(b"/") if b"/" in path else []
    todo = [path.rpartition(b"/")[2]]
    hops = 0
    while todo:
        part = todo.pop()
        if part == b"..":
            if not here:
                return "links out of the tree"
            here.pop()
        elif part not in (b"", b"."):
            here.append(part)
            if is_dot_git(part) and len(here) == 1:
                return "links into the git directory"
            target = links.get(b"/".join(here))
            if target is not None:
                hops += 1
                if target.startswith(b"/"):
                    return "links out of the tree"
                if hops > MOST_HOPS:
                    return ""  # a link loop leads nowhere
                here.pop()
                todo += reversed(target.split(b"/"))
    return ""


def wrong_links(before: Mapping[bytes, bytes], after: Mapping[bytes, bytes]) -> Iterator[tuple[bytes, str]]:
    """Yield links that lead out of the tree now and did not before: new ones, and old ones that a change redirects."""
    if before == after:
        return
    for path, target in after.items():
        why = wrong_link(path, after)
        if why and not (before.get(path) == target and wrong_link(path, before)):
            yield path, why
