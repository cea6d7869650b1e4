"""The user's repository, opened from any directory in it and only read. It says in one line what it cannot work with.

Git never runs on the user's git dir and never obeys the user's configuration: pointers, references and settings are
read as data here, and what git must do happens in `store`. A configuration that would make git run something is
therefore neither obeyed nor refused. Writing to the repository (landing) is not here.
"""

import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.workspace import refs
from donewhen.workspace.git import NOWHERE, GitFailed, git
from donewhen.workspace.objects import shown
from donewhen.workspace.process import Launcher

POINTER_BYTES = 1 << 20
"""Git takes no longer `.git` file either."""
EXTENSIONS = {
    "noop", "noop-v1", "preciousobjects", "partialclone", "worktreeconfig", "objectformat", "refstorage",
    "relativeworktrees",
}  # fmt: skip
KNOWN_FORMS = {"extensions.refstorage": ("files",), "extensions.objectformat": ("sha1", "sha256")}
UNDER_WAY = {
    "MERGE_HEAD": "a merge is under way",
    "rebase-merge": "a rebase is under way",
    "rebase-apply": "a rebase is under way",
    "CHERRY_PICK_HEAD": "a cherry-pick is under way",
    "REVERT_HEAD": "a revert is under way",
    "BISECT_LOG": "a bisection is under way",
}
LOCKS = ("index.lock", "HEAD.lock")
SHARED_LOCKS = ("packed-refs.lock", "config.lock", "gc.pid")

Settings = Mapping[str, tuple[str, ...]]


@frozen
class Repo:
    root: Path
    """The top of the working tree, by its real path."""
    git_dir: Path
    """Of this working tree."""
    common_dir: Path
    """Where objects and branches are; another directory than `git_dir` in a linked worktree."""
    head: str
    branch: str
    """Empty when HEAD is detached."""
    object_format: str
    shallow: bool
    partial: bool
    """A clone that left objects at its remote."""
    settings: Settings
    """The user's whole configuration as data, values in git's order: the last one counts. Nobody obeys it."""
    ignore_file: Path | None
    """The user's own ignore rules for all repositories."""
    notes: tuple[str, ...]
    """What a person should know, a line each."""

    def setting(self, key: str, default: str = "") -> str:
        return self.settings.get(key, (default,))[-1]


async def open_repo(launcher: Launcher, start: Path) -> Repo:
    """The repository around a directory, or BadInput."""
    try:
        root, pointer, git_dir = _find(start)
        common_dir = _common_dir(git_dir)
        scopes = await _read_scopes(launcher, git_dir, common_dir)
        _refuse_foreign((root, pointer, git_dir), scopes.outside)
        settings = scopes.joined()
        _refuse_unknown_form(root, settings)
        _refuse_other_work_tree(root, git_dir, scopes.of_work_tree(linked=git_dir != common_dir))
        said = refs.read(git_dir / "HEAD")
        head = refs.follow(said, common_dir)
        if not head:
            raise BadInput(f"{shown(str(root))} has no commit yet; make one first (git add --all, git commit)")
        return Repo(
            root=root,
            git_dir=git_dir,
            common_dir=common_dir,
            head=head,
            branch=_branch(said),
            object_format=_last(settings, "extensions.objectformat", "sha1").lower(),
            shallow=(common_dir / "shallow").exists(),
            partial=_is_partial(settings),
            settings=settings,
            ignore_file=_ignore_file(settings),
            notes=tuple(_notes(root, git_dir, common_dir, settings)),
        )
    except OSError as error:
        raise BadInput(f"{shown(str(error.filename))} cannot be read: {error.strerror}") from error


# -- where it is --


def _find(start: Path) -> tuple[Path, Path, Path]:
    """The working tree's top, its `.git`, and the git dir that it means."""
    here = Path(os.path.realpath(start))
    if not here.is_dir():
        raise BadInput(f"{shown(str(start))} is not a directory")
    for directory in (here, *here.parents):
        pointer = directory / ".git"
        if _is_there(pointer) and (git_dir := _git_dir(pointer)):
            return directory, pointer, git_dir
        if _is_git_dir(directory):
            kind = "a git directory" if ".git" in directory.parts else "a bare repository"
            raise BadInput(f"{shown(str(directory))} is {kind}: it has no working tree")
    raise BadInput(f"{shown(str(start))} is not in a git repository")


def _git_dir(pointer: Path) -> Path | None:
    if pointer.is_dir():
        real = Path(os.path.realpath(pointer))
        return real if _is_git_dir(real) else None
    said = _content(pointer, POINTER_BYTES + 1)
    path = said.removeprefix(b"gitdir: ").rstrip(b"\r\n")
    if len(said) > POINTER_BYTES or not said.startswith(b"gitdir: ") or not path or b"\0" in path:
        raise BadInput(f"{shown(str(pointer))} does not say where the git directory is")
    real = Path(os.path.realpath(os.path.join(pointer.parent, os.fsdecode(path))))
    if not _is_git_dir(real):
        raise BadInput(f"{shown(str(pointer))} points to {shown(str(real))}, which is not a git directory")
    return real


def _is_git_dir(directory: Path) -> bool:
    if not _is_there(directory / "HEAD"):
        return False
    return (directory / "commondir").is_file() or _has_objects(directory)


def _is_there(path: Path) -> bool:
    """Whether anything is at a path; not being allowed to know is an error, not a no."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _has_objects(directory: Path) -> bool:
    return (directory / "objects").is_dir() and (directory / "refs").is_dir()


def _common_dir(git_dir: Path) -> Path:
    pointer = git_dir / "commondir"
    if not pointer.is_file():
        return git_dir
    path = os.fsdecode(pointer.read_bytes().rstrip(b"\r\n"))
    common = Path(os.path.realpath(os.path.join(git_dir, path))) if "\0" not in path else git_dir
    if not _has_objects(common):
        raise BadInput(f"{shown(str(pointer))} points to {shown(str(common))}, which is not a git directory")
    return common


# -- what it is set to --


class _Scopes(NamedTuple):
    """Settings by where they stand: the machine's and the user's, the repository's, and this worktree's own."""

    outside: Settings
    shared: Settings
    own: Settings

    def joined(self) -> Settings:
        return _joined(_joined(self.outside, self.shared), self.own)

    def of_work_tree(self, linked: bool) -> Settings:
        """Those that may say where the working tree is; in a linked worktree git asks the shared ones nothing."""
        return self.own if linked else _joined(self.shared, self.own)


async def _read_scopes(launcher: Launcher, git_dir: Path, common_dir: Path) -> _Scopes:
    """One git process reads all files as one text, with marks between them that no file can know."""
    mark = f"b{secrets.token_hex(8)}"
    outside = [_content(path) for path in _files_outside()]
    marker = f"[donewhen]\n{mark}\n".encode()
    files = [*outside, marker, _content(common_dir / "config"), marker, _content(git_dir / "config.worktree")]
    arguments = ("config", "--file", "-", "--no-includes", "-z", "--list")
    try:
        answer = await git(launcher, NOWHERE, *arguments, stdin=b"\n\n".join([*files, b""]))
    except GitFailed as error:
        raise BadInput(f"the git configuration of {shown(str(common_dir))} cannot be read: {error}") from error
    scopes = [_by_key(part) for part in answer.split(f"donewhen.{mark}\0".encode())]
    if not is_true(_last(scopes[1], "extensions.worktreeconfig")):
        scopes[2] = {}
    return _Scopes(*scopes)


def _files_outside() -> Iterator[Path]:
    yield Path("/etc/gitconfig")
    yield _user_directory() / "config"
    yield Path(os.path.expanduser("~/.gitconfig"))


def _user_directory() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git")


def _content(path: Path, most: int = -1) -> bytes:
    """What a file says; nothing when it is missing or no file."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(most)


def _by_key(answer: bytes) -> Settings:
    found: dict[str, tuple[str, ...]] = {}
    for record in answer.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        key, assigned, value = record.partition("\n")
        found[key] = (*found.get(key, ()), value if assigned else "true")
    return found


def _joined(everywhere: Settings, here: Settings) -> Settings:
    keys = everywhere.keys() | here.keys()
    return {key: everywhere.get(key, ()) + here.get(key, ()) for key in keys}


def _last(settings: Settings, key: str, default: str = "") -> str:
    return settings.get(key, (default,))[-1]


def is_true(value: str) -> bool:
    """As git reads a yes or no."""
    return value.lower() in ("true", "yes", "on") or (value.isdigit() and int(value) != 0)


def _ignore_file(settings: Settings) -> Path | None:
    named = _last(settings, "core.excludesfile")
    path = Path(os.path.expanduser(named)) if named else _user_directory() / "ignore"
    return path if path.is_file() else None


# -- what it may be --


def _refuse_foreign(places: tuple[Path, ...], everywhere: Settings) -> None:
    """As git does: another user's repository is not ours to act on, unless its user said so outside of it."""
    ours = {os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdigit():
        ours.add(int(os.environ["SUDO_UID"]))
    trusted = everywhere.get("safe.directory", ())
    root = str(places[0])
    if "*" in trusted or root in trusted or all(os.lstat(place).st_uid in ours for place in places):
        return
    raise BadInput(f"{shown(root)} belongs to another user: git config --global --add safe.directory {shown(root)}")


def _refuse_unknown_form(root: Path, settings: Settings) -> None:
    where = shown(str(root))
    version = _last(settings, "core.repositoryformatversion", "0")
    if version not in ("0", "1"):
        raise BadInput(f"{where} has the repository format {shown(version)}, which is not known here")
    for name in _unknown_extensions(settings) if version == "1" else ():
        raise BadInput(f"{where} uses the git extension {shown(name)}, which is not known here")
    for key, known in KNOWN_FORMS.items():
        value = _last(settings, key, known[0]).lower()
        if value not in known:
            raise BadInput(f"{where} has {key} = {shown(value)}, but only {' and '.join(known)} can be read here")


def _refuse_other_work_tree(root: Path, git_dir: Path, settings: Settings) -> None:
    if is_true(_last(settings, "core.bare")):
        raise BadInput(f"{shown(str(root))} is a bare repository: it has no working tree")
    elsewhere = _last(settings, "core.worktree")
    if elsewhere and os.path.realpath(git_dir / elsewhere) != str(root):
        raise BadInput(f"{shown(str(root))} has its working tree elsewhere: core.worktree is {shown(elsewhere)}")


def _unknown_extensions(settings: Settings) -> list[str]:
    used = [key.removeprefix("extensions.") for key in settings if key.startswith("extensions.")]
    return sorted(name for name in used if name not in EXTENSIONS)


def _branch(said: bytes) -> str:
    name = refs.target(said)
    return os.fsdecode(name.removeprefix(b"refs/heads/")) if name.startswith(b"refs/heads/") else ""


def _is_partial(settings: Settings) -> bool:
    promised = any(key.startswith("remote.") and key.endswith(".promisor") for key in settings)
    return promised or "extensions.partialclone" in settings


def _notes(root: Path, git_dir: Path, common_dir: Path, settings: Settings) -> Iterator[str]:
    yield from {line: None for name, line in UNDER_WAY.items() if (git_dir / name).exists()}
    locks = [git_dir / name for name in LOCKS] + [common_dir / name for name in SHARED_LOCKS]
    yield from (f"another git is at work, or left {shown(str(lock))} behind" for lock in locks if lock.exists())
    if (root / ".gitmodules").is_file():
        yield "submodules are empty directories in the trees that work and checks see"
    if is_true(_last(settings, "core.sparsecheckout")):
        yield "the checkout is sparse; work and checks see every file"
    if (common_dir / "shallow").exists():
        yield "the clone is shallow; its history ends early"
    if _is_partial(settings):
        yield "the clone is partial; work and checks see no history"
    if b"filter=lfs" in _content(root / ".gitattributes") and not (common_dir / "lfs" / "objects").is_dir():
        yield "the content of LFS files is not here; work and checks see their pointers"
