"""Why a file of a tree cannot be read or written, each with one line that helps whoever asked."""

import contextlib
import errno
from collections.abc import Generator

from donewhen.errors import DonewhenError


class FileProblem(DonewhenError):
    """Anything that is wrong with a path or with what is there."""


class NotThere(FileProblem):
    """Nothing has that path."""


class Outside(FileProblem):
    """The path, or a link on its way, leaves the tree or goes where nobody may write."""


class IsDirectory(FileProblem):
    """A file is needed, and a directory is there."""


class NotDirectory(FileProblem):
    """A directory is needed, and something else is there."""


class NotFile(FileProblem):
    """A device, a pipe or a socket is there."""


class Closed(FileProblem):
    """Its permissions forbid it."""


class NotText(FileProblem):
    """Text is needed, and the content is none."""


class TooBig(FileProblem):
    def __init__(self, message: str, size: int) -> None:
        super().__init__(message)
        self.size = size


BY_NUMBER: dict[int, type[FileProblem]] = {
    errno.ENOENT: NotThere,
    errno.ENOTDIR: NotDirectory,
    errno.EISDIR: IsDirectory,
    errno.EACCES: Closed,
    errno.EPERM: Closed,
    errno.ENXIO: NotFile,
}


@contextlib.contextmanager
def explained(path: str) -> Generator[None]:
    """What the kernel says about a path, in our words."""
    try:
        yield
    except OSError as error:
        kind = BY_NUMBER.get(error.errno or 0, FileProblem)
        raise kind(f"{path}: {(error.strerror or str(error)).lower()}") from error
