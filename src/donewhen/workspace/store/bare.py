"""The private bare repository itself: its directory, git commands in it, objects in and out.

    git/       the bare repository; its configuration is written here and by nobody else
    scratch/   a git dir of its own for each operation under way: `HEAD`, an index, and a pointer to `git/`
    blank/     the files that every one of them starts with
    empty/     a work tree without files, for commands that must find no attributes in one
    bases/     what is known about a base tree: its skeleton, and the index of its checkout
    history/   packs that hold what is reachable from one commit and nothing else
    lfs/       content of LFS files that candidates and snapshots brought

What it holds of the user's repository is the business of `mirror`.
"""

import contextlib
import hashlib
import os
import secrets
import tempfile
import zlib
from collections.abc import AsyncGenerator, Generator, Sequence
from pathlib import Path

from donewhen.errors import MachineryBroke
from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.files import remove_tree
from donewhen.workspace.git import Place, Settings, git
from donewhen.workspace.objects import framed, object_id
from donewhen.workspace.process import Launcher
from donewhen.workspace.repo import Repo

PARTS = ("git", "scratch", "blank", "empty", "bases", "history", "lfs")
MOST_LOOSE, LOOSE_BYTES = 4, 1 << 20
"""So many objects of this size are cheaper to look for ourselves than to ask git for."""
LARGEST_READ = 16 << 20
"""A larger object is never held in memory; git streams what is larger as well (`bigFileThreshold`)."""
LARGEST_SHOWN = 1 << 20
"""Of a larger file a model, a memory or a question to a person has the sizes, not the text."""
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
        """Where content of LFS files may be; the first place is ours."""
        return (Root(self.directory / "lfs"), repo.lfs.below("objects"))

    def lay_out(self) -> None:
        """Make what is not there yet; `git/config` always says exactly what this version wants."""
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
        at: Place | None = None,
        stdin: bytes = b"",
        settings: Settings = (),
        date: str = "",
        memory: int = 0,
    ) -> bytes:
        """Git in the bare repository, or at a place made by `scratch`."""
        place = at or self.place(self.git_dir)
        return await git(self.launcher, place, *arguments, stdin=stdin, settings=settings, date=date, memory=memory)

    def place(self, git_dir: Path, work_tree: Path | None = None) -> Place:
        return Place(git_dir=git_dir, work_tree=work_tree or self.directory / "empty", index=git_dir / "index")

    @contextlib.contextmanager
    def scratch(self, work_tree: Path | None = None, head: bytes = NO_HEAD) -> Generator[Place]:
        """A place for one operation: an index and a HEAD of its own over the shared objects and references."""
        name = tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=self.directory / "scratch")
        git_dir = Path(name)
        try:
            # A link needs no new inode, which is what costs time; git writes to neither file there.
            os.link(self.directory / "blank" / "commondir", git_dir / "commondir")
            if head is NO_HEAD:
                os.link(self.directory / "blank" / "HEAD", git_dir / "HEAD")
            else:
                (git_dir / "HEAD").write_bytes(head)
            yield self.place(git_dir, work_tree)
        finally:
            remove_tree(git_dir)

    async def contents(self, ids: Sequence[str]) -> list[bytes]:
        """The content of each object; one git process for all that are in packs, none for a few that are not."""
        found = {id: self._loose(id) for id in ids} if len(ids) <= MOST_LOOSE else {}
        packed = [id for id in ids if found.get(id) is None]
        if packed:
            found.update(zip(packed, await self._asked_for(packed), strict=True))
        return [content for id in ids if (content := found[id]) is not None]

    async def readable_contents(self, ids: Sequence[str], largest: int = LARGEST_READ) -> list[bytes | None]:
        """The same, with None for each object that is larger than that."""
        found = {id: self._loose(id) for id in ids} if len(ids) <= MOST_LOOSE else {}
        others = [id for id in ids if found.get(id) is None]
        sizes = dict(zip(others, await self.sizes(others), strict=True))
        small = [id for id in others if sizes[id] <= largest]
        if small:
            found.update(zip(small, await self._asked_for(small), strict=True))
        return [found.get(id) for id in ids]

    async def sizes(self, ids: Sequence[str]) -> list[int]:
        """How many bytes each object has."""
        if not ids:
            return []
        asked = "".join(f"{id}\n" for id in ids).encode()
        answer = await self.run("cat-file", "--batch-check=%(objectsize)", "--buffer", stdin=asked)
        return [int(line) for line in answer.split(b"\n")[:-1]]

    @contextlib.asynccontextmanager
    async def blob_file(self, id: str) -> AsyncGenerator[Path]:
        """The content of a large blob as a file, for as long as the block runs."""
        with self.scratch() as place:
            await self.run("update-index", "--add", "--cacheinfo", f"100644,{id},blob", at=place)
            await self.run("checkout-index", "--all", f"--prefix={place.git_dir}/out/", at=place)
            yield place.git_dir / "out" / "blob"

    async def _asked_for(self, ids: Sequence[str]) -> list[bytes]:
        asked = "".join(f"{id}\n" for id in ids).encode()
        answer = await self.run("cat-file", "--batch", "--buffer", stdin=asked)
        found: list[bytes] = []
        at = 0
        for id in ids:
            end = answer.index(b"\n", at)
            said = answer[at:end].decode().split(" ")
            if len(said) != 3:
                raise MachineryBroke(f"object {id} is missing in the store")
            at = end + 1 + int(said[2]) + 1
            found.append(answer[end + 1 : at - 1])
        return found

    def _loose(self, id: str) -> bytes | None:
        """The content of a small object that is a file of its own; None where git has to be asked."""
        if not id.isalnum():  # no id, and it must not lead anywhere else
            return None
        try:
            with (self.git_dir / "objects" / id[:2] / id[2:]).open("rb") as file:
                frame = zlib.decompressobj().decompress(file.read(LOOSE_BYTES), LOOSE_BYTES)
        except (OSError, zlib.error):
            return None
        whole = hashlib.new(self.object_format, frame, usedforsecurity=False).hexdigest() == id
        return frame.partition(b"\0")[2] if whole else None

    def write(self, kind: str, content: bytes) -> str:
        """Store an object and give back its id."""
        id = object_id(self.object_format, kind, content)
        path = self.git_dir / "objects" / id[:2] / id[2:]
        if not path.exists():
            packed = zlib.compress(framed(kind, content), 1)
            try:
                replace(path, packed, mode=0o444)
            except FileNotFoundError:
                path.parent.mkdir(exist_ok=True)
                replace(path, packed, mode=0o444)
        return id


def replace(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file in one step: readers see the old one or the new one."""
    name = f"{path.parent}/tmp_donewhen_{secrets.token_hex(8)}"
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
        os.rename(name, path)
    except OSError:
        os.unlink(name)
        raise
