"""The user's repository, opened from any directory in it and only read. It says in one line what it cannot work with.

Git never runs on the user's git dir and never obeys the user's configuration: pointers, references and settings are
read as data here, and what git must do happens in `store`. A configuration that would make git run something is
therefore neither obeyed nor refused. Writing to the repository (landing) is not here.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote as quoted
from typing import NamedTuple

from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.workspace import refs
from donewhen.workspace.beneath import LINK, LeavesRoot, Root
from donewhen.workspace.git import NOWHERE, GitFailed
from donewhen.workspace.git import git as run_git
from donewhen.workspace.objects import shown
from donewhen.workspace.process import Launcher

POINTER_BYTES = 1 << 20
"""Git takes no longer `.git` file either."""
CONFIG_BYTES = 4 << 20
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
SHARED_PLACES = (
    "objects", "objects/info", "objects/info/alternates", "objects/pack",
    "objects/pack/multi-pack-index", "refs", "refs/heads", "refs/heads/donewhen",
    "refs/tags", "packed-refs", "config", "info", "info/exclude", "info/attributes", "logs", "logs/refs",
    "logs/refs/heads", "logs/refs/heads/donewhen", "logs/HEAD", "shallow", "worktrees",
)  # fmt: skip
OWN_PLACES = ("index", "config.worktree", "commondir", "logs", "logs/HEAD")
"""What is read and written in a git directory. A link deeper down is refused when it is met."""
LISTED = ("config", "--file", "-", "--no-includes", "-z", "--list")
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

    lfs: Root
    """Where git-lfs keeps the content of files."""

    def setting(self, key: str, default: str = "") -> str:
        return self.settings.get(key, (default,))[-1]

    # Everything below these directories may come from somebody else. It is opened through `Root` and in no other way.

    @property
    def files(self) -> Root:
        return Root(self.root)

    @property
    def git(self) -> Root:
        return Root(self.git_dir)

    @property
    def common(self) -> Root:
        return Root(self.common_dir)


async def open_repo(launcher: Launcher, start: Path) -> Repo:
    """The repository around a directory, or BadInput."""
    try:
        root, pointer, git_dir = _find(start)
        common_dir = _common_dir(git_dir)
        files, git, common = Root(root), Root(git_dir), Root(common_dir)
        if (why := _borrowed(root, git_dir, common_dir)) and not _is_said_safe(root, await _users_settings(launcher)):
            raise BadInput(why)
        _refuse_links(git, common)
        scopes = await _read_scopes(launcher, git, common)
        _refuse_foreign((root, pointer, git_dir), scopes.outside)
        settings = scopes.joined()
        _refuse_unknown_form(root, settings)
        of_work_tree = scopes.of_work_tree(linked=git_dir != common_dir)
        _refuse_other_work_tree(root, git_dir, of_work_tree)
        # A git directory elsewhere must name this working tree itself (a submodule's does), or its user must.
        apart = git_dir == common_dir and root not in git_dir.parents and not _last(of_work_tree, "core.worktree")
        if apart and not _is_said_safe(root, scopes.outside):
            where = f"{shown(str(git_dir))} does not say that {shown(str(root))} is its working tree"
            raise BadInput(f"{where}; to use it: {_say_safe(root)}")
        said = refs.read(git, "HEAD")
        head = refs.follow(said, common)
        if not head:
            raise BadInput(f"{shown(str(root))} has no commit yet; make one first (git add --all, git commit)")
        return Repo(
            root=root,
            git_dir=git_dir,
            common_dir=common_dir,
            head=head,
            branch=_branch(said),
            object_format=_last(settings, "extensions.objectformat", "sha1").lower(),
            shallow=common.is_file("shallow"),
            partial=_is_partial(settings),
            settings=settings,
            ignore_file=_ignore_file(settings),
            notes=tuple(_notes(files, git, common, settings)),
            lfs=_lfs_storage(common, scopes),
        )
    except LeavesRoot:
        raise
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


def common_dir_of(start: Path) -> Path:
    """The directory that all worktrees of the repository around a path share; nothing else of it is looked at."""
    return _common_dir(_find(start)[2])


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
    return Root(directory).is_file("commondir") or _has_objects(directory)


def _is_there(path: Path) -> bool:
    """Whether anything is at a path; not being allowed to know is an error, not a no."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _has_objects(directory: Path) -> bool:
    """Links count here, so that `_refuse_links` can name them."""
    found = [Root(directory).status(name) for name in ("objects", "refs")]
    return all(one is not None and (stat.S_ISDIR(one.st_mode) or stat.S_ISLNK(one.st_mode)) for one in found)


def _common_dir(git_dir: Path) -> Path:
    said = Root(git_dir).read("commondir", POINTER_BYTES)
    if said is None:
        return git_dir
    path = os.fsdecode(said.rstrip(b"\r\n"))
    common = Path(os.path.realpath(os.path.join(git_dir, path))) if "\0" not in path else git_dir
    if not _has_objects(common):
        pointer = Root(git_dir).place("commondir")
        raise BadInput(f"{shown(pointer)} points to {shown(str(common))}, which is not a git directory")
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


async def _read_scopes(launcher: Launcher, git: Root, common: Root) -> _Scopes:
    """One git process reads all files as one text, with marks between them that no file can know."""
    mark = f"b{secrets.token_hex(8)}"
    outside = [_content(path) for path in _files_outside()]
    marker = f"[donewhen]\n{mark}\n".encode()
    files = [*outside, marker, _config(common, "config"), marker, _config(git, "config.worktree")]
    try:
        answer = await run_git(launcher, NOWHERE, *LISTED, stdin=b"\n\n".join([*files, b""]))
    except GitFailed as error:
        raise BadInput(f"the git configuration of {shown(str(common.location))} cannot be read: {error}") from error
    scopes = [_by_key(part) for part in answer.split(f"donewhen.{mark}\0".encode())]
    if not is_true(_last(scopes[1], "extensions.worktreeconfig")):
        scopes[2] = {}
    return _Scopes(*scopes)


async def _users_settings(launcher: Launcher) -> Settings:
    """Those of the machine and the user alone."""
    content = b"\n\n".join([*(_content(path) for path in _files_outside()), b""])
    return _by_key(await run_git(launcher, NOWHERE, *LISTED, stdin=content))


def _files_outside() -> Iterator[Path]:
    yield Path("/etc/gitconfig")
    yield _user_directory() / "config"
    yield Path(os.path.expanduser("~/.gitconfig"))


def _user_directory() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git")


def _config(root: Root, name: str) -> bytes:
    content = root.read(name, CONFIG_BYTES + 1) or b""
    if len(content) > CONFIG_BYTES:
        raise BadInput(f"{shown(str(root.location))}: {name} is larger than {CONFIG_BYTES >> 20} MiB")
    return content


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


def _lfs_storage(common: Root, scopes: _Scopes) -> Root:
    """The user may keep LFS content anywhere; a repository's own setting counts only below the git directory."""
    users = _last(scopes.outside, "lfs.storage")
    if users:
        return Root(Path(os.path.realpath(os.path.join(common.location, os.path.expanduser(users)))))
    named = _last(_joined(scopes.shared, scopes.own), "lfs.storage", "lfs")
    try:
        return common.below(named)
    except LeavesRoot:
        return common.below("lfs")


# -- what it may be --


def _refuse_links(git: Root, common: Root) -> None:
    """A link in a git directory could lead our reads and writes anywhere. `HEAD` may be one: it is read as a name."""
    for root, names in ((common, SHARED_PLACES), (git, OWN_PLACES)):
        for name in names:
            found = root.status(name)
            if found is not None and stat.S_ISLNK(found.st_mode):
                raise LeavesRoot(errno.ELOOP, LINK, root.place(name))


def _borrowed(root: Path, git_dir: Path, common_dir: Path) -> str:
    """Why a working tree uses the git directory of another one; empty when it is its own.

    A pointer in one directory must not open the repository of another one, unless its user said so outside of it.
    """
    where, fix = shown(str(root)), _say_safe(root)
    if git_dir != common_dir:
        if (git_dir.parent.parent, git_dir.parent.name) != (common_dir, "worktrees"):
            return f"{where} is not among the worktrees of {shown(str(common_dir))}; to use it: {fix}"
        said = Root(git_dir).read("gitdir", POINTER_BYTES) or b""
        back = os.path.realpath(os.path.join(git_dir, os.fsdecode(said.rstrip(b"\r\n"))))
        if back != Root(root).place(".git"):
            return f"{shown(str(git_dir))} names another worktree than {where}: git worktree repair, or {fix}"
    elif git_dir.name == ".git" and git_dir.parent != root:
        return f"{where} uses the git directory of {shown(str(git_dir.parent))}; to use it: {fix}"
    return ""


def _refuse_foreign(places: tuple[Path, ...], everywhere: Settings) -> None:
    """As git does: another user's repository is not ours to act on, unless its user said so outside of it."""
    ours = {os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdigit():
        ours.add(int(os.environ["SUDO_UID"]))
    if _is_said_safe(places[0], everywhere) or all(os.lstat(place).st_uid in ours for place in places):
        return
    raise BadInput(f"{shown(str(places[0]))} belongs to another user: {_say_safe(places[0])}")


def _say_safe(root: Path) -> str:
    path = str(root)
    if shown(path) != path:  # in `$'…'` nothing is expanded, and every byte can be written
        odd = (f"\\{byte:03o}" if not 32 < byte < 127 or byte in b"\\'" else chr(byte) for byte in os.fsencode(path))
        return f"git config --global --add safe.directory $'{''.join(odd)}'"
    return f"git config --global --add safe.directory {quoted(path)}"


def _is_said_safe(root: Path, everywhere: Settings) -> bool:
    """As git reads it: an empty value takes back all before it."""
    trusted: list[str] = []
    for value in everywhere.get("safe.directory", ()):
        trusted = [*trusted, os.path.expanduser(value)] if value else []
    return "*" in trusted or str(root) in trusted


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
    if elsewhere and os.path.realpath(os.path.join(git_dir, elsewhere)) != str(root):
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


def _notes(files: Root, git: Root, common: Root, settings: Settings) -> Iterator[str]:
    yield from {line: None for name, line in UNDER_WAY.items() if git.status(name)}
    locks = [(git, name) for name in LOCKS] + [(common, name) for name in SHARED_LOCKS]
    held = [root.place(name) for root, name in locks if root.status(name)]
    yield from (f"another git is at work, or left {shown(lock)} behind" for lock in held)
    if files.is_file(".gitmodules"):
        yield "submodules are empty directories in the trees that work and checks see"
    if is_true(_last(settings, "core.sparsecheckout")):
        yield "the checkout is sparse; work and checks see every file"
    if common.is_file("shallow"):
        yield "the clone is shallow; its history ends early"
    if _is_partial(settings):
        yield "the clone is partial; work and checks see no history"
    if b"filter=lfs" in _attributes(files) and not _has_lfs_content(common):
        yield "the content of LFS files is not here; work and checks see their pointers"


def _attributes(files: Root) -> bytes:
    """As git does, a link in place of the file counts as no file."""
    try:
        return files.read(".gitattributes", CONFIG_BYTES) or b""
    except LeavesRoot:
        return b""


def _has_lfs_content(common: Root) -> bool:
    try:
        return common.is_directory("lfs/objects")
    except LeavesRoot:
        return False
