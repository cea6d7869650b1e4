"""Open paths below a directory whose content comes from others: a repository, a git directory, a tree, a share.

    root = Root(repo.common_dir)
    with root.directory("refs/heads", make=True) as fd: …

No link is followed, at any component, so that nothing outside the directory is read or written. Files that only inform
a decision may be read through links that lead to another place below the same directory (`read_inside`). `..` is never
accepted. Mounts below the directory are part of it.

The kernel resolves the path (`openat2`). Where it cannot, every component is opened on its own, which is as safe and
costs more calls. Standard library only: the launcher uses it too.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import struct

from donewhen.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from io import BufferedReader
    from pathlib import Path

    Enter = Callable[[bytes], bool]

SYS_OPENAT2 = 437
"""The same number on every architecture."""
NO_MAGICLINKS, NO_SYMLINKS, BENEATH = 0x02, 0x04, 0x08
UNSUPPORTED = {errno.ENOSYS, errno.EPERM, errno.EINVAL}
"""What an old kernel, or a filter around this process, answers to a call that it does not know."""
MOST_HOPS = 40
"""As many links as the kernel follows."""
LONGEST = 4000
"""The kernel takes no longer path in one call."""
MOST_TRIES = 16
"""How often a lookup is repeated that was disturbed by a rename elsewhere."""
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""A pipe in place of a file must not hold us up."""

Parts = tuple[bytes, ...]
AnyPath = str | bytes
"""Of text, bytes that are no UTF-8 are surrogate escapes."""

LINK = "is a link, which is not followed here"
kernel_resolves = True
"""Whether this kernel has the call, as far as is known. Tests set it to False, to have every component opened alone."""
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class LeavesRoot(BadInput, OSError):
    """A path goes through a link, or names a place outside the directory. Said as one line that names the path."""

    def __str__(self) -> str:
        name = str(self.filename)
        return f"{name if name.isprintable() else ascii(name)} {self.strerror}"


class Root:
    """A directory. Paths are relative to it; `location` is for messages and for what has to be handed to the kernel."""

    __slots__ = ("_inner", "_top")

    def __init__(self, top: Path | str, inner: AnyPath = b"") -> None:
        self._top = os.fspath(top)
        self._inner = _parts(inner)

    @property
    def location(self) -> Path:
        from pathlib import Path  # the launcher does without

        return Path(self._top, *map(os.fsdecode, self._inner))

    def place(self, path: AnyPath) -> str:
        """The whole path as text, for a message; it is not to be opened."""
        return os.fsdecode(os.path.join(os.fsencode(self._top), *self._inner, os.fsencode(path)))

    def below(self, path: AnyPath) -> Root:
        """A directory below this one as a root; the way to it is looked up from here each time."""
        return Root(self._top, b"/".join((*self._inner, *_parts(path))))

    # -- opening --

    @contextlib.contextmanager
    def directory(self, path: AnyPath = b"", make: bool = False) -> Generator[int]:
        """A descriptor of a directory; with `make`, directories that are missing are made."""
        fd = _made(self._top, (*self._inner, *_parts(path))) if make else self.open_directory(path)
        try:
            yield fd
        finally:
            os.close(fd)

    def open_directory(self, path: AnyPath = b"") -> int:
        """A descriptor of a directory, for the caller to close."""
        return _opened(self._top, (*self._inner, *_parts(path)))

    @contextlib.contextmanager
    def above(self, path: AnyPath, make: bool = False) -> Generator[tuple[int, bytes]]:
        """A descriptor of the directory that holds a path, and the last name of it, for calls that take `dir_fd`."""
        parts = _parts(path)
        if not parts:
            raise IsADirectoryError(errno.EISDIR, "is the directory itself", self.place(b""))
        with self.directory(b"/".join(parts[:-1]), make) as fd:
            yield fd, parts[-1]

    def open(self, path: AnyPath, flags: int, mode: int = 0o666) -> int:
        """Open a path; a link at its end is refused as well."""
        with self.above(path) as (fd, name), _explained(self._top, (*self._inner, *_parts(path))):
            return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=fd)

    @contextlib.contextmanager
    def file(self, path: AnyPath, inside: bool = False) -> Generator[BufferedReader]:
        """A regular file, to read from; anything else is an OSError."""
        whole = (*self._inner, *_parts(path))
        fd = _opened_inside(self._top, whole) if inside else self.open(path, REGULAR)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise IsADirectoryError(errno.EISDIR, "is not a regular file", os.fsdecode(path))
        with os.fdopen(fd, "rb") as file:
            yield file

    # -- reading --

    def read(self, path: AnyPath, most: int) -> bytes | None:
        """The first bytes of a regular file; None when there is no file. A link in the way is an error."""
        try:
            with self.file(path) as file:
                return file.read(most)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def read_inside(self, path: AnyPath, most: int) -> bytes | None:
        """The same for a file that only informs a decision: links that stay inside count; None for all trouble."""
        try:
            with self.file(path, inside=True) as file:
                return file.read(most)
        except OSError:
            return None

    def status(self, path: AnyPath = b"") -> os.stat_result | None:
        """What is at a path, a link at its end not followed; None when nothing is."""
        try:
            if not _parts(path):
                with self.directory() as fd:
                    return os.fstat(fd)
            with self.above(path) as (fd, name):
                return os.stat(name, dir_fd=fd, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def is_file(self, path: AnyPath) -> bool:
        found = self.status(path)
        return found is not None and stat.S_ISREG(found.st_mode)

    def is_directory(self, path: AnyPath = b"") -> bool:
        found = self.status(path)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def target(self, path: AnyPath) -> bytes | None:
        """Where the link at a path points; None when there is no link."""
        try:
            with self.above(path) as (fd, name):
                return os.readlink(name, dir_fd=fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOTDIR, errno.EISDIR):
                return None
            raise

    def names(self, path: AnyPath = b"") -> list[str]:
        """The names in a directory, sorted; none when there is no directory."""
        try:
            with self.directory(path) as fd:
                return sorted(os.listdir(fd))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def files_below(self, path: AnyPath = b"", enter: Enter = lambda _: True) -> Iterator[bytes]:
        """Everything below a directory that is not a directory itself, by its path from this root, in order."""
        return (inner for inner, is_directory in self.walk(path, enter) if not is_directory)

    def directories_below(self, path: AnyPath) -> list[bytes]:
        """A directory and all directories below it, inner ones first; none when there is no directory."""
        if not self.is_directory(path):
            return []
        inner = [inner for inner, is_directory in self.walk(path) if is_directory]
        return [*reversed(inner), b"/".join(_parts(path))]

    def walk(self, path: AnyPath = b"", enter: Enter = lambda _: True) -> Iterator[tuple[bytes, bool]]:
        """Everything below a directory by its path from this root, and whether it is a directory; outer ones first."""
        waiting = [b"/".join(_parts(path))]
        while waiting:
            here = waiting.pop()
            try:
                with self.directory(here) as fd, os.scandir(fd) as found:
                    inner = sorted((os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in found)
            except (FileNotFoundError, NotADirectoryError):
                continue  # removed while we looked
            full = [(here + b"/" + name if here else name, is_directory) for name, is_directory in inner]
            yield from full
            waiting += [name for name, is_directory in reversed(full) if is_directory and enter(name)]


# -- resolving: `top` is a directory of the host, `parts` are the names from there on --


def _opened(top: str, parts: Parts) -> int:
    with _top_of(top) as fd, _explained(top, parts):
        found = _kernel_open(fd, parts, DIRECTORY, BENEATH | NO_SYMLINKS | NO_MAGICLINKS)
        return _step_by_step(fd, parts) if found is None else found


def _opened_inside(top: str, parts: Parts) -> int:
    """Open a file for reading; links are followed as long as they stay below the top."""
    with _top_of(top) as fd, _explained(top, parts):
        found = _kernel_open(fd, parts, REGULAR & ~os.O_NOFOLLOW, BENEATH | NO_MAGICLINKS)
        return _following(fd, parts) if found is None else found


def _made(top: str, parts: Parts) -> int:
    """Open a directory; those that are missing are made."""
    fd = os.open(top, DIRECTORY & ~os.O_NOFOLLOW)
    for number, part in enumerate(parts, 1):
        try:
            with _explained(top, parts[:number]):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o777, dir_fd=fd)
                inner = os.open(part, DIRECTORY, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    return fd


@contextlib.contextmanager
def _top_of(top: str) -> Generator[int]:
    fd = os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def _explained(top: str, parts: Parts) -> Generator[None]:
    """Raise errors again with the path in them; a link in the way is named as such."""
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        places = [os.path.join(os.fsencode(top), *parts[:count]) for count in range(1, len(parts) + 1)]
        if number in (errno.ELOOP, errno.EXDEV, errno.ENOTDIR):
            link = next((os.fsdecode(place) for place in places if os.path.islink(place)), "")
            if link:
                raise LeavesRoot(errno.ELOOP, LINK, link) from error
            if number != errno.ENOTDIR:
                raise LeavesRoot(
                    errno.ELOOP, "goes through a link, which is not followed here", _shown(places)
                ) from error
        raise OSError(number, error.strerror or os.strerror(number), _shown(places) or top) from error


def _shown(places: list[bytes]) -> str:
    return os.fsdecode(places[-1]) if places else ""


def _parts(path: AnyPath) -> Parts:
    plain = os.fsencode(path)
    parts = tuple(part for part in plain.split(b"/") if part not in (b"", b"."))
    if plain.startswith(b"/") or b".." in parts or b"\0" in plain:
        raise LeavesRoot(errno.EXDEV, "is not a path below the directory", os.fsdecode(plain))
    return parts


def _kernel_open(top: int, parts: Parts, flags: int, resolve: int) -> int | None:
    """`openat2`; None where this kernel has no such call, or the path is too long for one."""
    global kernel_resolves
    plain = b"/".join(parts) or b"."
    if not kernel_resolves or len(plain) > LONGEST:
        return None
    how = struct.pack("QQQ", flags, 0, resolve)
    path = ctypes.c_char_p(plain)
    number = errno.EAGAIN
    for _ in range(MOST_TRIES):
        fd = int(_libc.syscall(SYS_OPENAT2, top, path, how, ctypes.c_size_t(len(how))))
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number != errno.EAGAIN:
            break
    if number in UNSUPPORTED and not _kernel_answers():
        kernel_resolves = False
        return None
    raise OSError(number, os.strerror(number))


def _kernel_answers() -> bool:
    how = struct.pack("QQQ", os.O_PATH | os.O_CLOEXEC, 0, BENEATH)
    here = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fd = int(_libc.syscall(SYS_OPENAT2, here, ctypes.c_char_p(b"."), how, ctypes.c_size_t(len(how))))
        if fd >= 0:
            os.close(fd)
        return fd >= 0
    finally:
        os.close(here)


def _step_by_step(top: int, parts: Parts) -> int:
    fd = os.open(b".", DIRECTORY, dir_fd=top)
    for part in parts:
        try:
            inner = os.open(part, DIRECTORY, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    return fd


def _following(top: int, parts: Parts) -> int:
    """Follow links by hand. The descriptors of all directories above are held: `..` goes back to one of them."""
    held = [os.open(b".", DIRECTORY, dir_fd=top)]
    todo = list(reversed(parts))
    hops = 0
    try:
        while True:
            part = todo.pop() if todo else b"."
            if part in (b"", b".") and todo:
                continue
            if part == b"..":
                if len(held) == 1:
                    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
                os.close(held.pop())
                continue
            try:
                target = os.readlink(part, dir_fd=held[-1])
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                if not any(one not in (b"", b".") for one in todo):
                    return os.open(part, REGULAR, dir_fd=held[-1])
                held.append(os.open(part, DIRECTORY, dir_fd=held[-1]))
                continue
            hops += 1
            if target.startswith(b"/") or hops > MOST_HOPS:
                raise OSError(errno.EXDEV if hops <= MOST_HOPS else errno.ELOOP, "link")
            todo += reversed(target.split(b"/"))
    finally:
        for fd in held:
            os.close(fd)
