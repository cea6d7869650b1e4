"""Link-safe access to paths below a directory whose content is not trusted: a repository, git directory, tree or share.

    root = Root(repo.common_dir)
    with root.directory("refs/heads", make=True) as fd: …

No link is followed, at any path component. So nothing outside the directory is read or written. One exception: files
that only inform a decision may be read through links that lead to another place below the same directory
(`read_inside`). `..` is never accepted. Mounts below the directory are part of it.

The kernel resolves the path (`openat2`). Where it cannot, every component is opened separately. That is as safe and
costs more calls. Standard library only: the launcher uses this module too.
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
"""The system call number, the same on every architecture."""
NO_MAGICLINKS, NO_SYMLINKS, BENEATH = 0x02, 0x04, 0x08
UNSUPPORTED = {errno.ENOSYS, errno.EPERM, errno.EINVAL}
"""Errors from an old kernel, or from a filter around this process, for a call that it does not know."""
MOST_HOPS = 40
"""The kernel follows the same number of links."""
LONGEST = 4000
"""The kernel accepts no longer path in one call."""
MOST_TRIES = 16
"""How often a lookup is tried when a rename elsewhere disturbs it."""
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Non-blocking: opening a pipe in place of a file must not block."""

Parts = tuple[bytes, ...]
AnyPath = str | bytes
"""In text, bytes that are not valid UTF-8 are surrogate escapes."""

LINK = "is a link, which is not followed here"
kernel_resolves = True
"""False once `openat2` was found to be missing. Tests set it to False, so that every component is opened separately."""
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class LeavesRoot(BadInput, OSError):
    """A path goes through a link, or is outside the directory. The message is one line that names the path."""

    def __str__(self) -> str:
        name = str(self.filename)
        return f"{name if name.isprintable() else ascii(name)} {self.strerror}"


class Root:
    """A directory; all paths are relative to it.

    `location` is for messages and for paths that must be passed to the kernel. `shared` holds the modes that
    `core.sharedRepository` requests in a git directory, see `share`. A `pinned` root raises `LeavesRoot` as soon as
    another directory has its path.
    """

    __slots__ = ("_identity", "_inner", "_shared", "_top")

    def __init__(
        self, top: Path | str, inner: AnyPath = b"", shared: int = 0, identity: tuple[int, int] | None = None
    ) -> None:
        self._top = os.fspath(top)
        self._inner = _parts(inner)
        self._shared = shared
        self._identity = identity

    @property
    def location(self) -> Path:
        from pathlib import Path  # the launcher does not need it

        return Path(self._top, *map(os.fsdecode, self._inner))

    def full_path(self, path: AnyPath) -> str:
        """Return the whole path as text, for a message. Do not open it."""
        return os.fsdecode(os.path.join(os.fsencode(self._top), *self._inner, _encoded(path)))

    def below(self, path: AnyPath, shared: int | None = None) -> Root:
        """Return a root for a directory below this one. Its path is resolved from this root each time."""
        modes = self._shared if shared is None else shared
        return Root(self._top, b"/".join((*self._inner, *_parts(path))), modes, self._identity)

    # -- opening --

    @contextlib.contextmanager
    def directory(self, path: AnyPath = b"", make: bool = False) -> Generator[int]:
        """Yield a descriptor of a directory. With `make`, create missing directories."""
        if make:
            fd = _make_directories(self._top, self._identity, (*self._inner, *_parts(path)), self.share)
        else:
            fd = self.open_directory(path)
        try:
            yield fd
        finally:
            os.close(fd)

    def open_directory(self, path: AnyPath = b"") -> int:
        """Return a descriptor of a directory. The caller closes it."""
        parts = (*self._inner, *_parts(path))
        with _open_top(self._top, self._identity) as top, _with_whole_path(self._top, parts):
            found = _kernel_open(top, parts, DIRECTORY, BENEATH | NO_SYMLINKS | NO_MAGICLINKS)
            return _open_step_by_step(top, parts) if found is None else found

    @contextlib.contextmanager
    def above(self, path: AnyPath, make: bool = False) -> Generator[tuple[int, bytes]]:
        """Yield a descriptor of the parent directory and the last name of the path, for calls that take `dir_fd`."""
        parts = _parts(path)
        if not parts:
            raise IsADirectoryError(errno.EISDIR, "is the directory itself", self.full_path(b""))
        with self.directory(b"/".join(parts[:-1]), make) as fd:
            yield fd, parts[-1]

    def open(self, path: AnyPath, flags: int, mode: int = 0o666) -> int:
        """Open a path. A link as the last component is refused as well."""
        with self.above(path) as (fd, name), _with_whole_path(self._top, (*self._inner, *_parts(path))):
            return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=fd)

    def share(self, fd: int) -> None:
        """Set the modes that git would give a new file or directory here. Do nothing if it belongs to another user."""
        status = os.fstat(fd)
        wanted = _shared_mode(status.st_mode, self._shared)
        if self._shared and wanted != status.st_mode:
            with contextlib.suppress(PermissionError):
                os.fchmod(fd, stat.S_IMODE(wanted))

    @contextlib.contextmanager
    def file(self, path: AnyPath, inside: bool = False) -> Generator[BufferedReader]:
        """Open a regular file for reading. Anything else raises OSError."""
        if inside:
            fd = _open_inside(self._top, self._identity, (*self._inner, *_parts(path)))
        else:
            fd = self.open(path, REGULAR)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise IsADirectoryError(errno.EISDIR, "is not a regular file", os.fsdecode(path))
        with os.fdopen(fd, "rb") as file:
            yield file

    # -- reading --

    def read(self, path: AnyPath, most: int) -> bytes | None:
        """Return up to `most` bytes of a regular file; None if there is none. A link on the path is an error."""
        try:
            with self.file(path) as file:
                return file.read(most)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def read_inside(self, path: AnyPath, most: int) -> bytes | None:
        """Like `read`, for a file that only informs a decision: follow links that stay inside; None on any error."""
        try:
            with self.file(path, inside=True) as file:
                return file.read(most)
        except OSError:
            return None

    def status(self, path: AnyPath = b"") -> os.stat_result | None:
        """Return the status of a path without following a link at its end; None if nothing is there."""
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
        """Return the target of the link at a path; None if there is no link."""
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
        """Return the sorted names in a directory; an empty list if there is no directory."""
        try:
            with self.directory(path) as fd:
                return sorted(os.listdir(fd))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def files_below(self, path: AnyPath = b"", enter: Enter = lambda _: True) -> Iterator[bytes]:
        """Yield everything below a directory that is not a directory, in order. Paths are relative to this root."""
        return (inner for inner, is_directory in self.walk(path, enter) if not is_directory)

    def directories_below(self, path: AnyPath) -> list[bytes]:
        """Return a directory and all directories below it, inner ones first; an empty list if there is no directory."""
        if not self.is_directory(path):
            return []
        inner = [inner for inner, is_directory in self.walk(path) if is_directory]
        return [*reversed(inner), b"/".join(_parts(path))]

    def walk(self, path: AnyPath = b"", enter: Enter = lambda _: True) -> Iterator[tuple[bytes, bool]]:
        """Yield path (from this root) and "is a directory" of everything below a directory, outer ones first."""
        waiting = [b"/".join(_parts(path))]
        while waiting:
            here = waiting.pop()
            try:
                with self.directory(here) as fd, os.scandir(fd) as found:
                    inner = sorted((os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in found)
            except (FileNotFoundError, NotADirectoryError):
                continue  # removed during the walk
            full = [(here + b"/" + name if here else name, is_directory) for name, is_directory in inner]
            yield from full
            waiting += [name for name, is_directory in reversed(full) if is_directory and enter(name)]


# -- path resolution: `top` is a directory of the host, `parts` are the names below it --


def pin(top: Path | str) -> Root:
    """Return a root for the directory that has this path now, and for no other directory that has it later."""
    found = os.stat(top)
    return Root(top, identity=(found.st_dev, found.st_ino))


@contextlib.contextmanager
def _open_top(top: str, identity: tuple[int, int] | None) -> Generator[int]:
    fd = os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        found = os.fstat(fd)
        if identity not in (None, (found.st_dev, found.st_ino)):
            raise LeavesRoot(errno.ESTALE, "was replaced by another directory", top)
        yield fd
    finally:
        os.close(fd)


def _open_inside(top: str, identity: tuple[int, int] | None, parts: Parts) -> int:
    """Open a file for reading. Follow links as long as they stay below the top."""
    with _open_top(top, identity) as fd, _with_whole_path(top, parts):
        found = _kernel_open(fd, parts, REGULAR & ~os.O_NOFOLLOW, BENEATH | NO_MAGICLINKS)
        return _open_following_links(fd, parts) if found is None else found


def _make_directories(top: str, identity: tuple[int, int] | None, parts: Parts, share: Callable[[int], None]) -> int:
    """Open a directory. Create missing directories."""
    with _open_top(top, identity) as above:
        fd = os.open(b".", DIRECTORY, dir_fd=above)
    for number, part in enumerate(parts, 1):
        try:
            with _with_whole_path(top, parts[:number]):
                is_new = _make_directory(part, fd)
                inner = os.open(part, DIRECTORY, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
        if is_new:
            share(fd)
    return fd


def _make_directory(name: bytes, above: int) -> bool:
    """Create a directory. Return False if the name already exists."""
    try:
        os.mkdir(name, 0o777, dir_fd=above)
    except FileExistsError:
        return False
    return True


def _shared_mode(mode: int, shared: int) -> int:
    """Return the mode as git computes it: `shared` adds bits or, if negative, replaces the permission bits."""
    extra = abs(shared)
    if not mode & stat.S_IWUSR:
        extra &= ~0o222
    if mode & stat.S_IXUSR:
        extra |= (extra & 0o444) >> 2
    wanted = (mode & ~0o777 | extra) if shared < 0 else mode | extra
    return wanted | stat.S_ISGID if stat.S_ISDIR(mode) and wanted & 0o060 else wanted


@contextlib.contextmanager
def _with_whole_path(top: str, parts: Parts) -> Generator[None]:
    """Re-raise OSError with the whole path. Report a link on the path as `LeavesRoot`."""
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        whole = os.fsdecode(os.path.join(os.fsencode(top), *parts))
        if number in (errno.ELOOP, errno.EXDEV, errno.ENOTDIR):
            if link := _first_link(top, parts):
                raise LeavesRoot(errno.ELOOP, LINK, link) from error
            if number != errno.ENOTDIR:
                raise LeavesRoot(errno.ELOOP, "goes through a link, which is not followed here", whole) from error
        raise OSError(number, error.strerror or os.strerror(number), whole) from error


def _first_link(top: str, parts: Parts) -> str:
    place = os.fsencode(top)
    for part in parts:
        place = os.path.join(place, part)
        if os.path.islink(place):
            return os.fsdecode(place)
    return ""


def _parts(path: AnyPath) -> Parts:
    plain = _encoded(path)
    parts = tuple(part for part in plain.split(b"/") if part not in (b"", b"."))
    if plain.startswith(b"/") or b".." in parts or b"\0" in plain:
        raise LeavesRoot(errno.EXDEV, "is not a path below the directory", os.fsdecode(plain))
    return parts


def _encoded(path: AnyPath) -> bytes:
    try:
        return os.fsencode(path)
    except UnicodeEncodeError:
        raise LeavesRoot(errno.EINVAL, "contains characters that no path can have", str(path)) from None


def _kernel_open(top: int, parts: Parts, flags: int, resolve: int) -> int | None:
    """Call `openat2`. Return None if the kernel lacks the call or the path is too long for one call."""
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
    if number in UNSUPPORTED and not _kernel_can_resolve():
        kernel_resolves = False
        return None
    raise OSError(number, os.strerror(number))


def _kernel_can_resolve() -> bool:
    how = struct.pack("QQQ", os.O_PATH | os.O_CLOEXEC, 0, BENEATH)
    here = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fd = int(_libc.syscall(SYS_OPENAT2, here, ctypes.c_char_p(b"."), how, ctypes.c_size_t(len(how))))
        if fd >= 0:
            os.close(fd)
        return fd >= 0
    finally:
        os.close(here)


def _open_step_by_step(top: int, parts: Parts) -> int:
    fd = os.open(b".", DIRECTORY, dir_fd=top)
    for part in parts:
        try:
            inner = os.open(part, DIRECTORY, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    return fd


def _open_following_links(top: int, parts: Parts) -> int:
    """Resolve links in user space. Keep a descriptor of every parent directory: `..` returns to one of them."""
    held = [os.open(b".", DIRECTORY, dir_fd=top)]
    todo = list(reversed(parts))
    hops = 0
    try:
        while True:
            part = (todo.pop() if todo else b"") or b"."
            if part == b"." and todo:
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
                if not todo:  # a name followed by "/" or "/." must be a directory
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
