"""The user's repository, opened read-only from any directory inside it. Unsupported ones raise a one-line BadInput.

Git never runs on the user's git directory and never applies the user's configuration. This module reads pointers,
references and settings as data; `store` does everything that needs git. A configuration that would make git start a
program is therefore neither applied nor refused. This module does not write: `landing` does.
"""

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from shlex import quote as quoted
from typing import NamedTuple

from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.workspace.beneath import LINK, LeavesRoot, Root, pin
from donewhen.workspace.git import refs
from donewhen.workspace.git.objects import shown
from donewhen.workspace.git.run_git import NO_LOCATION, GitFailed
from donewhen.workspace.git.run_git import git as run_git
from donewhen.workspace.process.launch import Launcher

POINTER_BYTES = 1 << 20
"""Size limit of a `.git` file; git has the same limit."""
CONFIG_BYTES = 4 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Git skips it at the start of a configuration file."""
RULE_FILE_SETTINGS = ("core.excludesFile", "core.attributesFile")
EXTENSIONS = {
    "noop", "noop-v1", "preciousobjects", "partialclone", "worktreeconfig", "objectformat", "refstorage",
    "relativeworktrees",
}  # fmt: skip
KNOWN_FORMS = {"extensions.refstorage": ("files", "reftable"), "extensions.objectformat": ("sha1", "sha256")}
IN_PROGRESS = {
    "MERGE_HEAD": "a merge is in progress",
    "rebase-merge": "a rebase is in progress",
    "rebase-apply": "a rebase is in progress",
    "CHERRY_PICK_HEAD": "a cherry-pick is in progress",
    "REVERT_HEAD": "a revert is in progress",
    "BISECT_LOG": "a bisection is in progress",
}
SHARED_PATHS = (
    "objects", "objects/info", "objects/info/alternates", "objects/pack", "objects/pack/multi-pack-index", "refs",
    "refs/heads", "refs/heads/donewhen", "refs/tags", "packed-refs", "config", "info", "info/exclude",
    "info/attributes", "logs", "logs/refs", "logs/refs/heads", "logs/refs/heads/donewhen", "logs/HEAD", "shallow",
    "worktrees", "reftable", "reftable/tables.list",
)  # fmt: skip
OWN_PATHS = ("index", "config.worktree", "commondir", "logs", "logs/HEAD", "reftable", "reftable/tables.list")
"""The paths that we read and write in a git directory. A link deeper down is refused when it is opened."""
LISTED = ("config", "--file", "-", "--no-includes", "-z", "--list")
LOCKS = ("index.lock", "HEAD.lock")
SHARED_LOCKS = ("packed-refs.lock", "config.lock", "gc.pid", refs.TABLES_LOCK)

Settings = Mapping[str, tuple[str, ...]]


@frozen
class Repo:
    root: Path
    """Real path of the top of the working tree."""
    git_dir: Path
    """The git directory of this working tree."""
    common_dir: Path
    """The directory with objects and branches. It differs from `git_dir` in a linked worktree."""
    head: str
    branch: str
    """Empty if HEAD is detached."""
    object_format: str
    shallow: bool
    partial: bool
    """True for a partial clone: some objects exist only at its remote."""
    settings: Settings
    """The user's whole configuration as data, values in git's order: the last one counts. Git never runs with it."""
    ignore_file: Path | None
    """The user's ignore rules for all repositories."""
    notes: tuple[str, ...]
    """Facts that a person should know, one line each."""

    # Files below these directories may come from other users. Open them only through `Root`.
    files: Root
    git: Root
    common: Root
    lfs: Root
    """The directory in which git-lfs stores file contents."""

    def setting(self, key: str, default: str = "") -> str:
        return self.settings.get(key, (default,))[-1]


async def open_repo(launcher: Launcher, start: Path) -> Repo:
    """Return the repository that contains a directory, or raise BadInput."""
    try:
        root, pointer, git_dir = _find(start)
        common_dir = _common_dir(git_dir)
        files, git, common = pin(root), pin(git_dir), pin(common_dir)
        if (why := _foreign_git_dir(root, git_dir, common_dir)) and not _is_declared_safe(
            root, await _users_settings(launcher)
        ):
            raise BadInput(why)
        _refuse_links(git, common)
        scopes = await _read_scopes(launcher, git, common)
        _refuse_foreign((root, pointer, git_dir), scopes.outside)
        settings = scopes.joined()
        _refuse_unknown_form(root, settings)
        of_work_tree = scopes.of_work_tree(linked=git_dir != common_dir)
        _refuse_other_work_tree(root, git_dir, of_work_tree)
        _refuse_endless_rules(settings)
        # A git directory outside the working tree must name this working tree (a submodule's does), or the user must.
        apart = git_dir == common_dir and root not in git_dir.parents and not _last(of_work_tree, "core.worktree")
        if apart and not _is_declared_safe(root, scopes.outside):
            where = f"{shown(str(git_dir))} does not name {shown(str(root))} as its working tree"
            raise BadInput(f"{where}; to use it: {_safe_directory_hint(root)}")
        _refuse_other_ref_format(root, git, common, settings)
        content = refs.read(git, "HEAD")
        head = refs.follow(content, common)
        if not head:
            raise BadInput(f"{shown(str(root))} has no commit yet; make one first (git add --all, git commit)")
        modes = _shared_modes(settings)
        return Repo(
            root=root,
            git_dir=git_dir,
            common_dir=common_dir,
            head=head,
            branch=_branch(content),
            object_format=_last(settings, "extensions.objectformat", "sha1").lower(),
            shallow=common.is_file("shallow"),
            partial=_is_partial(settings),
            settings=settings,
            ignore_file=_ignore_file(settings),
            notes=tuple(_notes(files, git, common, settings)),
            files=files,
            git=git.below(b"", modes),
            common=common.below(b"", modes),
            lfs=_lfs_storage(common.below(b"", modes), scopes),
        )
    except LeavesRoot:
        raise
    except OSError as error:
        raise BadInput(f"{shown(str(error.filename))} cannot be read: {error.strerror}") from error


# -- location --


def _find(start: Path) -> tuple[Path, Path, Path]:
    """Return the top of the working tree, its `.git` path, and the git directory that this path refers to."""
    here = Path(os.path.realpath(start))
    if not here.is_dir():
        raise BadInput(f"{shown(str(start))} is not a directory")
    for directory in (here, *here.parents):
        pointer = directory / ".git"
        if _exists(pointer) and (git_dir := _git_dir(pointer)):
            return directory, pointer, git_dir
        if _is_git_dir(directory):
            kind = "a git directory" if ".git" in directory.parts else "a bare repository"
            raise BadInput(f"{shown(str(directory))} is {kind}: it has no working tree")
    raise BadInput(f"{shown(str(start))} is not in a git repository")


def common_dir_of(start: Path) -> Path:
    """Return the directory that all worktrees of the repository around a path share. Nothing else is checked."""
    return _common_dir(_find(start)[2])


def head_of(start: Path) -> str:
    """Return the commit at HEAD of the working tree around a path; empty if there is none. Nothing else is checked."""
    return refs.follow(refs.read(Root(_find(start)[2]), "HEAD"), Root(common_dir_of(start)))


def _git_dir(pointer: Path) -> Path | None:
    if pointer.is_dir():
        real = Path(os.path.realpath(pointer))
        return real if _is_git_dir(real) else None
    content = _content(pointer, POINTER_BYTES + 1)
    path = content.removeprefix(b"gitdir: ").rstrip(b"\r\n")
    if len(content) > POINTER_BYTES or not content.startswith(b"gitdir: ") or not path or b"\0" in path:
        raise BadInput(f"{shown(str(pointer))} does not name a git directory")
    real = Path(os.path.realpath(os.path.join(pointer.parent, os.fsdecode(path))))
    if not _is_git_dir(real):
        raise BadInput(f"{shown(str(pointer))} points to {shown(str(real))}, which is not a git directory")
    return real


def _is_git_dir(directory: Path) -> bool:
    if not _exists(directory / "HEAD"):
        return False
    return Root(directory).is_file("commondir") or _has_objects(directory)


def _exists(path: Path) -> bool:
    """Return whether the path exists. A permission error is raised, it does not count as absent."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _has_objects(directory: Path) -> bool:
    """Return whether `objects` and `refs` exist. Links count, so that `_refuse_links` can name them."""
    found = [Root(directory).status(name) for name in ("objects", "refs")]
    return all(one is not None and (stat.S_ISDIR(one.st_mode) or stat.S_ISLNK(one.st_mode)) for one in found)


def _common_dir(git_dir: Path) -> Path:
    content = Root(git_dir).read("commondir", POINTER_BYTES)
    if content is None:
        return git_dir
    path = os.fsdecode(content.rstrip(b"\r\n"))
    common = Path(os.path.realpath(os.path.join(git_dir, path))) if "\0" not in path else git_dir
    if not _has_objects(common):
        pointer = Root(git_dir).full_path("commondir")
        raise BadInput(f"{shown(pointer)} points to {shown(str(common))}, which is not a git directory")
    return common


# -- settings --


class _Scopes(NamedTuple):
    """Settings by source: machine and user (`outside`), repository (`shared`), and this worktree (`own`)."""

    outside: Settings
    shared: Settings
    own: Settings

    def joined(self) -> Settings:
        return _joined(_joined(self.outside, self.shared), self.own)

    def of_work_tree(self, linked: bool) -> Settings:
        """Return the settings that may locate the working tree. In a linked worktree git ignores the shared ones."""
        return self.own if linked else _joined(self.shared, self.own)


async def _read_scopes(launcher: Launcher, git: Root, common: Root) -> _Scopes:
    """Read all configuration files as one text with one git process; marks that no file can know separate them."""
    mark = f"b{secrets.token_hex(8)}"
    outside = [_content(path) for path in _files_outside()]
    marker = f"[donewhen]\n{mark}\n".encode()
    files = [*outside, marker, _config(common, "config"), marker, _config(git, "config.worktree")]
    try:
        answer = await run_git(launcher, NO_LOCATION, *LISTED, stdin=_one_text(files))
    except GitFailed as error:
        raise BadInput(f"the git configuration of {shown(str(common.location))} cannot be read: {error}") from error
    scopes = [_by_key(part) for part in answer.split(f"donewhen.{mark}\0".encode())]
    if not is_true(_last(scopes[1], "extensions.worktreeconfig")):
        scopes[2] = {}
    return _Scopes(*scopes)


async def _users_settings(launcher: Launcher) -> Settings:
    """Return only the settings of the machine and the user."""
    files = [_content(path) for path in _files_outside()]
    return _by_key(await run_git(launcher, NO_LOCATION, *LISTED, stdin=_one_text(files)))


def _one_text(files: Sequence[bytes]) -> bytes:
    return b"\n\n".join([*(content.removeprefix(BYTE_ORDER_MARK) for content in files), b""])


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
    """Return the content of a file; empty if the path is missing or is not a regular file."""
    if not path.is_file():
        return b""
    with _open(path) as file:
        return file.read(most) or b""  # read() returns None for a /proc file that would block


def _open(path: Path) -> BufferedReader:
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


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
    """Return whether git reads this value as true."""
    return value.lower() in ("true", "yes", "on") or (value.isdigit() and int(value) != 0)


def _shared_modes(settings: Settings) -> int:
    """Return `core.sharedRepository` as git reads it: mode bits to add, or minus the exact mode bits; 0 for none."""
    value = _last(settings, "core.sharedrepository", "umask")
    if not re.fullmatch("[0-7]+", value):
        group = value == "group" or is_true(value)
        return 0o664 if value in ("all", "world", "everybody") else 0o660 if group else 0
    number = int(value, 8)
    return {0: 0, 1: 0o660, 2: 0o664}.get(number, -(number & 0o666))


def _ignore_file(settings: Settings) -> Path | None:
    named = _last(settings, "core.excludesfile")
    path = Path(os.path.expanduser(named)) if named else _user_directory() / "ignore"
    return path if path.is_file() else None


def _lfs_storage(common: Root, scopes: _Scopes) -> Root:
    """Return the LFS directory. The user may set any path, the repository only one below the git directory."""
    users = _last(scopes.outside, "lfs.storage")
    if users:
        return Root(Path(os.path.realpath(os.path.join(common.location, os.path.expanduser(users)))))
    named = _last(_joined(scopes.shared, scopes.own), "lfs.storage", "lfs")
    try:
        return common.below(named)
    except LeavesRoot:
        return common.below("lfs")


# -- refused repositories, and notes --


def _refuse_links(git: Root, common: Root) -> None:
    """Raise LeavesRoot for a link: it could redirect our reads and writes. `HEAD` may be one: it is read as a name."""
    for root, names in ((common, SHARED_PATHS), (git, OWN_PATHS)):
        for name in names:
            found = root.status(name)
            if found is not None and stat.S_ISLNK(found.st_mode):
                raise LeavesRoot(errno.ELOOP, LINK, root.full_path(name))


def _foreign_git_dir(root: Path, git_dir: Path, common_dir: Path) -> str:
    """Return an error text if the working tree uses the git directory of another one; empty if it uses its own.

    A pointer in one directory must not open the repository of another one, unless the user's own settings allow it.
    """
    where, fix = shown(str(root)), _safe_directory_hint(root)
    if git_dir != common_dir:
        if (git_dir.parent.parent, git_dir.parent.name) != (common_dir, "worktrees"):
            return f"{where} is not among the worktrees of {shown(str(common_dir))}; to use it: {fix}"
        content = Root(git_dir).read("gitdir", POINTER_BYTES) or b""
        back = os.path.realpath(os.path.join(git_dir, os.fsdecode(content.rstrip(b"\r\n"))))
        if back != Root(root).full_path(".git"):
            return f"{shown(str(git_dir))} names another worktree than {where}: git worktree repair, or {fix}"
    elif git_dir.name == ".git" and git_dir.parent != root:
        return f"{where} uses the git directory of {shown(str(git_dir.parent))}; to use it: {fix}"
    return ""


def _refuse_foreign(places: tuple[Path, ...], everywhere: Settings) -> None:
    """Refuse another user's repository, as git does, unless the machine's or the user's settings allow it."""
    ours = {os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdigit():
        ours.add(int(os.environ["SUDO_UID"]))
    if _is_declared_safe(places[0], everywhere) or all(os.lstat(place).st_uid in ours for place in places):
        return
    raise BadInput(f"{shown(str(places[0]))} belongs to another user: {_safe_directory_hint(places[0])}")


def _safe_directory_hint(root: Path) -> str:
    path = str(root)
    if shown(path) != path:  # the shell expands nothing in `$'…'`, and it can express every byte
        odd = (f"\\{byte:03o}" if not 32 < byte < 127 or byte in b"\\'" else chr(byte) for byte in os.fsencode(path))
        return f"git config --global --add safe.directory $'{''.join(odd)}'"
    return f"git config --global --add safe.directory {quoted(path)}"


def _is_declared_safe(root: Path, everywhere: Settings) -> bool:
    """Return whether `safe.directory` lists the root. As in git, an empty value cancels all earlier ones."""
    trusted: list[str] = []
    for value in everywhere.get("safe.directory", ()):
        trusted = [*trusted, os.path.expanduser(value)] if value else []
    return "*" in trusted or str(root) in trusted


def _refuse_unknown_form(root: Path, settings: Settings) -> None:
    where = shown(str(root))
    version = _last(settings, "core.repositoryformatversion", "0")
    if version not in ("0", "1"):
        raise BadInput(f"{where} has the unknown repository format {shown(version)}")
    for name in _unknown_extensions(settings) if version == "1" else ():
        raise BadInput(f"{where} uses the unknown git extension {shown(name)}")
    for key, known in KNOWN_FORMS.items():
        value = _last(settings, key, known[0]).lower()
        if value not in known:
            raise BadInput(f"{where} has {key} = {shown(value)}, but only {' and '.join(known)} can be read here")


def _refuse_other_ref_format(top: Path, git: Root, common: Root, settings: Settings) -> None:
    """Refuse a git directory whose `HEAD` does not agree with its settings: git would read other references than we."""
    value = _last(settings, "extensions.refstorage", "files").lower()
    for root in (git, common):
        if refs.has_tables(root) != (value == "reftable"):
            head = shown(root.full_path("HEAD"))
            raise BadInput(f"{shown(str(top))} has extensions.refstorage = {value}, but {head} is of another format")


def _refuse_other_work_tree(root: Path, git_dir: Path, settings: Settings) -> None:
    if is_true(_last(settings, "core.bare")):
        raise BadInput(f"{shown(str(root))} is a bare repository: it has no working tree")
    elsewhere = _last(settings, "core.worktree")
    if elsewhere and os.path.realpath(os.path.join(git_dir, elsewhere)) != str(root):
        raise BadInput(f"{shown(str(root))} has its working tree elsewhere: core.worktree is {shown(elsewhere)}")


def _refuse_endless_rules(settings: Settings) -> None:
    """Refuse kernel files as rule files: they report size 0, some never end, and git would wait for more data."""
    for key in RULE_FILE_SETTINGS:
        named = _last(settings, key.lower())
        path = Path(os.path.expanduser(named))
        if named and path.is_file() and os.access(path, os.R_OK) and not _is_plain(path):
            raise BadInput(f"{key} is {shown(named)}, which is not a plain file: name another one")


def _is_plain(path: Path) -> bool:
    """Return whether the content of a file agrees with its reported size."""
    with _open(path) as file:
        try:
            return os.fstat(file.fileno()).st_size > 0 or os.read(file.fileno(), 1) == b""
        except OSError:  # reading would block, or is not possible in this way
            return False


def _unknown_extensions(settings: Settings) -> list[str]:
    used = [key.removeprefix("extensions.") for key in settings if key.startswith("extensions.")]
    return sorted(name for name in used if name not in EXTENSIONS)


def _branch(head: bytes) -> str:
    name = refs.target(head)
    return os.fsdecode(name.removeprefix(b"refs/heads/")) if name.startswith(b"refs/heads/") else ""


def _is_partial(settings: Settings) -> bool:
    promised = any(key.startswith("remote.") and key.endswith(".promisor") for key in settings)
    return promised or "extensions.partialclone" in settings


def _notes(files: Root, git: Root, common: Root, settings: Settings) -> Iterator[str]:
    yield from operations_in_progress(git)
    locks = [(git, name) for name in LOCKS] + [(common, name) for name in SHARED_LOCKS]
    held = [root.full_path(name) for root, name in locks if root.status(name)]
    yield from (f"another git process is running, or it left {shown(lock)} behind" for lock in held)
    if files.is_file(".gitmodules"):
        yield "submodules are empty directories for engines and checks"
    if is_true(_last(settings, "core.sparsecheckout")):
        yield "the checkout is sparse; engines and checks see every file"
    if common.is_file("shallow"):
        yield "the clone is shallow; its history ends early"
    if _is_partial(settings):
        yield "the clone is partial; engines and checks see no history"
    if b"filter=lfs" in _attributes(files) and not _has_lfs_content(common):
        yield "the content of LFS files is missing; engines and checks see their pointers"


def operations_in_progress(git: Root) -> list[str]:
    """Return one line for each operation that was begun in a working tree, such as a merge, and is not finished."""
    in_tables = refs.table_refs(git)
    found = (line for name, line in IN_PROGRESS.items() if git.status(name) or name.encode() in in_tables)
    return list(dict.fromkeys(found))


def _attributes(files: Root) -> bytes:
    """Return the content of `.gitattributes`. As in git, a link counts as a missing file."""
    try:
        return files.read(".gitattributes", CONFIG_BYTES) or b""
    except LeavesRoot:
        return b""


def _has_lfs_content(common: Root) -> bool:
    try:
        return common.is_directory("lfs/objects")
    except LeavesRoot:
        return False
