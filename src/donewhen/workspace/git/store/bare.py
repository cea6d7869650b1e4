"""The private bare repository: its directory, git commands in it, reading and writing objects.

    git/       the bare repository; only this module writes its configuration
    scratch/   a separate git directory for each running operation: `HEAD`, an index, and a pointer to `git/`
    blank/     the initial files of every scratch directory
    empty/     a work tree without files, for commands that must not find attributes in one
    bases/     data about a base tree: its skeleton, and the index of its checkout
    history/   packs with exactly what is reachable from one commit
    lfs/       LFS contents from candidates and snapshots

`object_mirror` brings in the data of the user's repository.
"""

import contextlib
import hashlib
import os
import secrets
import tempfile
import zlib
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from functools import partial
from pathlib import Path

from donewhen.errors import MachineryBroke
from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.files import link_or_copy, remove_tree
from donewhen.workspace.git.objects import frame, object_id
from donewhen.workspace.git.repo import Repo
from donewhen.workspace.git.run_git import GitLocation, Settings, git
from donewhen.workspace.git.store.traps import refuse_traps, run_unless_blocked
from donewhen.workspace.process.launch import Launcher

PARTS = ("git", "scratch", "blank", "empty", "bases", "history", "lfs")
MOST_LOOSE, LOOSE_BYTES = 4, 1 << 20
"""Up to this number and size, reading loose objects directly is cheaper than starting git."""
LARGEST_READ = 16 << 20
"""Larger objects are never held in memory. Git streams them too (`bigFileThreshold`)."""
LARGEST_SHOWN = 1 << 20
"""For larger files, models, memory and questions to a person get the sizes, not the text."""
NO_HEAD = b"ref: refs/heads/none\n"
CONFIG = """\
[core]
\trepositoryformatversion = {version}
\tbare = true
\tfileMode = true
\tsymlinks = true
\tignoreCase = false
\tautocrlf = false
\tsafecrlf = false
\tprotectHFS = true
\tprotectNTFS = true
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tfsmonitor = false
\tuntrackedCache = false
\tsplitIndex = false
\tlogAllRefUpdates = false
\tbigFileThreshold = 16m
\tlooseCompression = 1
[index]
\tversion = 2
\tsparse = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[submodule]
\trecurse = false
[checkout]
\tworkers = 0
{extensions}"""


@frozen
class Bare:
    launcher: Launcher
    directory: Path
    object_format: str

    @property
    def git_dir(self) -> Path:
        return self.directory / "git"

    def lfs_places(self, repo: Repo) -> tuple[Root, ...]:
        """Return the directories that may have LFS contents; the first one is ours."""
        return (Root(self.directory / "lfs"), repo.lfs.below("objects"))

    def create_files(self) -> None:
        """Create missing directories and files. `git/config` is rewritten if it is not exactly that of this version."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.directory.is_symlink() or self.directory.stat().st_uid != os.geteuid():
            raise MachineryBroke(f"{self.directory} belongs to another user")
        self.directory.chmod(0o700)
        for part in (*PARTS, "git/objects/pack", "git/objects/info", "git/refs", "git/info"):
            (self.directory / part).mkdir(parents=True, exist_ok=True)
        other_format = "" if self.object_format == "sha1" else f"[extensions]\n\tobjectFormat = {self.object_format}\n"
        config = CONFIG.format(version=1 if other_format else 0, extensions=other_format)
        files = {"git/config": config.encode(), "git/HEAD": NO_HEAD, "blank/HEAD": NO_HEAD}
        for name, content in {**files, "blank/commondir": b"../../git\n"}.items():
            path = self.directory / name
            if not path.is_file() or path.read_bytes() != content:
                replace(path, content)
        self._remove_leftovers()

    def _remove_leftovers(self) -> None:
        for path in (self.directory / "scratch").iterdir():
            if not Path("/proc", path.name.partition("-")[0]).exists():
                remove_tree(path)

    async def run(
        self,
        *arguments: str,
        at: GitLocation | None = None,
        stdin: bytes = b"",
        settings: Settings = (),
        date: str = "",
        memory: int = 0,
    ) -> bytes:
        """Run git in the bare repository, or at a location made by `scratch`."""
        location = at or self.location(self.git_dir)
        ask = partial(
            git, self.launcher, location, *arguments, stdin=stdin, settings=settings, date=date, memory=memory
        )
        return await (ask() if location.check is None else run_unless_blocked(ask, location.check))

    def location(
        self, git_dir: Path, work_tree: Path | None = None, check: Callable[[], None] | None = None
    ) -> GitLocation:
        where = work_tree or self.directory / "empty"
        return GitLocation(git_dir=git_dir, work_tree=where, index=git_dir / "index", check=check)

    @contextlib.contextmanager
    def scratch(
        self, work_tree: Path | None = None, head: bytes = NO_HEAD, check: Callable[[], None] | None = None
    ) -> Generator[GitLocation]:
        """Yield a location for one operation: a separate index and HEAD, with the shared objects and references."""
        name = tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=self.directory / "scratch")
        git_dir = Path(name)
        try:
            # A link is faster because it needs no new inode. Git writes to neither of these files.
            link_or_copy(self.directory / "blank" / "commondir", git_dir / "commondir")
            if head is NO_HEAD:
                link_or_copy(self.directory / "blank" / "HEAD", git_dir / "HEAD")
            else:
                (git_dir / "HEAD").write_bytes(head)
            yield self.location(git_dir, work_tree, check)
        finally:
            remove_tree(git_dir)

    @contextlib.contextmanager
    def over(self, repo: Repo, head: bytes = NO_HEAD) -> Generator[GitLocation]:
        """Yield a location for one operation on the files of the user's checkout."""
        with self.scratch(repo.root, head, partial(refuse_traps, repo.files)) as location:
            yield location

    async def contents(self, ids: Sequence[str]) -> list[bytes]:
        """Return the content of each object. A few loose objects need no git process; all others need one together."""
        found = {id: self._loose(id) for id in ids} if len(ids) <= MOST_LOOSE else {}
        packed = [id for id in ids if found.get(id) is None]
        if packed:
            found.update(zip(packed, await self._read_with_git(packed), strict=True))
        return [content for id in ids if (content := found[id]) is not None]

    async def readable_contents(self, ids: Sequence[str], largest: int = LARGEST_READ) -> list[bytes | None]:
        """The same, with None for each object that is larger than `largest`."""
        found = {id: self._loose(id) for id in ids} if len(ids) <= MOST_LOOSE else {}
        others = [id for id in ids if found.get(id) is None]
        sizes = dict(zip(others, await self.sizes(others), strict=True))
        small = [id for id in others if sizes[id] <= largest]
        if small:
            found.update(zip(small, await self._read_with_git(small), strict=True))
        return [found.get(id) for id in ids]

    async def sizes(self, ids: Sequence[str]) -> list[int]:
        """Return the size of each object in bytes."""
        if not ids:
            return []
        lines = "".join(f"{id}\n" for id in ids).encode()
        answer = await self.run("cat-file", "--batch-check=%(objectsize)", "--buffer", stdin=lines)
        return [int(line) for line in answer.split(b"\n")[:-1]]

    @contextlib.asynccontextmanager
    async def blob_file(self, id: str) -> AsyncGenerator[Path]:
        """Yield a file with the content of a large blob. It is removed at the end of the block."""
        with self.scratch() as location:
            await self.run("update-index", "--add", "--cacheinfo", f"100644,{id},blob", at=location)
            await self.run("checkout-index", "--all", f"--prefix={location.git_dir}/out/", at=location)
            yield location.git_dir / "out" / "blob"

    async def _read_with_git(self, ids: Sequence[str]) -> list[bytes]:
        lines = "".join(f"{id}\n" for id in ids).encode()
        answer = await self.run("cat-file", "--batch", "--buffer", stdin=lines)
        found: list[bytes] = []
        at = 0
        for id in ids:
            end = answer.index(b"\n", at)
            fields = answer[at:end].decode().split(" ")
            if len(fields) != 3:
                raise MachineryBroke(f"object {id} is missing in the store")
            at = end + 1 + int(fields[2]) + 1
            found.append(answer[end + 1 : at - 1])
        return found

    def _loose(self, id: str) -> bytes | None:
        """Return the content of a small loose object; None if git must be asked."""
        if not id.isalnum():  # not an id; it must not become another path
            return None
        try:
            with (self.git_dir / "objects" / id[:2] / id[2:]).open("rb") as file:
                frame = zlib.decompressobj().decompress(file.read(LOOSE_BYTES), LOOSE_BYTES)
        except (OSError, zlib.error):
            return None
        whole = hashlib.new(self.object_format, frame, usedforsecurity=False).hexdigest() == id
        return frame.partition(b"\0")[2] if whole else None

    def write(self, kind: str, content: bytes) -> str:
        """Store an object and return its id."""
        id = object_id(self.object_format, kind, content)
        path = self.git_dir / "objects" / id[:2] / id[2:]
        if not path.exists():
            packed = zlib.compress(frame(kind, content), 1)
            try:
                replace(path, packed, mode=0o444)
            except FileNotFoundError:
                path.parent.mkdir(exist_ok=True)
                replace(path, packed, mode=0o444)
        return id


def replace(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file atomically: readers see the old content or the new one."""
    name = f"{path.parent}/tmp_donewhen_{secrets.token_hex(8)}"
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
        os.rename(name, path)
    except OSError:
        os.unlink(name)
        raise
