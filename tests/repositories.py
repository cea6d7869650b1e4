"""Real repositories for tests: made by git, compared byte by byte before and after.

`opened` returns the store of a repository and asserts at its end that the repository is unchanged. Git runs with the
configuration of the test; the program under test does not use this module.
"""

import functools
import hashlib
import os
import stat
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from donewhen.workspace.git.repo import open_repo
from donewhen.workspace.git.store import Store
from donewhen.workspace.process.launch import Launcher
from needs import needs

Files = Mapping[str, str | bytes] | Mapping[bytes, str | bytes]
ODD_NAMES = [
    b"space in name", b" leading", b"trailing ", b"two\nlines", b"tab\there", b"quote\"d", b"back\\slash", b"bell\a",
    b"esc\x1b[31m", b"latin \xe9", b"broken \xff\xfe", "nfc \u00e9".encode(), "nfd e\u0301".encode(), b"trailing cr\r",
    b"Case", b"case", b"CASE/twin", b"-dash", b"--", b":(magic)", b"*", b"~", b"x" * 255, b"caf\xc3\xa9/deep/er",
    "\u202ebidi".encode(), b".hidden", b"a.git", b"git", b".gitx",
]  # fmt: skip
"""Unusual names that every file system of Linux accepts."""
ONE_FILE: Files = {"a.txt": "a\n"}


def environment() -> dict[str, str]:
    """Return the variables for git: the home of the test, an identity, a fixed time, no other variables of git."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = {"NAME": "Tester", "EMAIL": "tester@example.invalid", "DATE": "2024-02-03T04:05:06Z"}
    identity = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    return {**kept, **identity, "GIT_CONFIG_NOSYSTEM": "1"}


def git(where: Path, *arguments: str | bytes, given: bytes = b"") -> str:
    """Return the output of a git command, which must succeed."""
    ran = try_git(where, *arguments, given=given)
    assert ran.returncode == 0, (arguments, ran.stderr.decode())
    return ran.stdout.decode("utf-8", "surrogateescape").strip()


def try_git(where: Path, *arguments: str | bytes, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [needs("git"), *arguments]
    return subprocess.run(command, cwd=where, env=environment(), input=given, capture_output=True, check=False)


def write(root: Path, files: Files) -> None:
    for name, content in files.items():
        path = os.path.join(bytes(root), name.encode() if isinstance(name, str) else name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)


def commit(root: Path, message: str = "a commit") -> str:
    add_and_commit(root, message)
    return git(root, "rev-parse", "HEAD")


def add_and_commit(root: Path, message: str) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "-m", message)


def repository(root: Path, files: Files = ONE_FILE, *options: str) -> Path:
    """Make a repository on branch `main` with one commit of these files."""
    root.mkdir(parents=True)
    if options:
        git(root, "init", "--quiet", "--template=", "-b", "main", *options)
    else:
        unpack(root, empty_repository())
    write(root, files)
    add_and_commit(root, "the first commit")
    return root


@functools.cache
def empty_repository() -> dict[str, bytes | None]:
    """Return what `git init` makes, by path; None for a directory. It is always the same, so git runs once."""
    with tempfile.TemporaryDirectory() as name:
        git(Path(name), "init", "--quiet", "--template=", "-b", "main")
        made = sorted(Path(name).rglob("*"))
        return {str(path.relative_to(name)): None if path.is_dir() else path.read_bytes() for path in made}


def unpack(root: Path, made: Mapping[str, bytes | None]) -> None:
    for name, content in made.items():
        if content is None:
            (root / name).mkdir()
        else:
            (root / name).write_bytes(content)


def lfs_repository(root: Path) -> tuple[Path, bytes]:
    """Make one file whose content is present and one whose content is missing, as git-lfs leaves them."""
    here, there = b"the content\n" * 1000, b"content elsewhere\n"
    files = {".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "here.bin": "", "there.bin": ""}
    repository(root, {**files, "here.bin": pointer(here), "there.bin": pointer(there), "plain.txt": pointer(here)})
    oid = hashlib.sha256(here).hexdigest()
    write(root, {f".git/lfs/objects/{oid[:2]}/{oid[2:4]}/{oid}": here})
    return root, here


def pointer(content: bytes) -> bytes:
    oid = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n".encode()


def digest(root: Path) -> str:
    """Return a digest of what a user could notice in a directory: names, kinds, modes, contents, git's index time."""
    sum_of_all = hashlib.sha256()
    for path, (kind, content) in sorted(contents(root, with_git=True).items()):
        sum_of_all.update(repr((path, kind, len(content))).encode())
        sum_of_all.update(content)
    index = root / ".git" / "index"
    if index.exists():
        sum_of_all.update(str(index.stat().st_mtime_ns).encode())
    return sum_of_all.hexdigest()


def contents(root: Path, with_git: bool = False, directories: bool = True) -> dict[bytes, tuple[str, bytes]]:
    """Return path → (kind, content) of everything below a directory. No link is followed."""
    found: dict[bytes, tuple[str, bytes]] = {}
    for above, names, files in os.walk(bytes(root)):
        if not with_git and above == bytes(root):
            names[:], files[:] = [n for n in names if n != b".git"], [n for n in files if n != b".git"]
        for name in (*names, *files):
            path = os.path.join(above, name)
            what = kind_and_content(path)
            if directories or what[0] != "directory":
                found[os.path.relpath(path, bytes(root))] = what
    return found


def kind_and_content(path: bytes) -> tuple[str, bytes]:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        return "link", os.readlink(path)
    if stat.S_ISDIR(mode):
        return "directory", b""
    if not stat.S_ISREG(mode):
        return "other", b""
    with open(path, "rb") as file:
        return ("program" if mode & stat.S_IXUSR else "file"), file.read()


@asynccontextmanager
async def opened(root: Path, directory: Path) -> AsyncGenerator[Store]:
    """Open the store of a repository, and assert at the end that the repository is unchanged."""
    before = digest(root)
    async with Launcher.open() as launcher:
        yield await Store.open(launcher, await open_repo(launcher, root), directory)
    assert digest(root) == before, "the user's repository was touched"
