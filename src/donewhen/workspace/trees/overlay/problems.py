"""Errors of reading or writing a file of a tree, each with a one-line message for the caller."""

import contextlib
import errno
from collections.abc import Generator

from donewhen.errors import DonewhenError


class FileProblem(DonewhenError):
    """Any problem with a path or with what is there."""


class NotFound(FileProblem):
    """The path does not exist."""


class OutsideTree(FileProblem):
    """The path, or a link on it, leaves the tree or leads to where writing is forbidden."""


class IsDirectory(FileProblem):
    """A file is needed, but the path is a directory."""


class NotDirectory(FileProblem):
    """A directory is needed, but the path is something else."""


class NotFile(FileProblem):
    """The path is a device, a pipe or a socket."""


class AccessDenied(FileProblem):
    """The permissions forbid the access."""


class NotText(FileProblem):
    """Text is needed, but the content is binary."""


class TooBig(FileProblem):
    def __init__(self, message: str, size: int) -> None:
        super().__init__(message)
        self.size = size


BY_NUMBER: dict[int, type[FileProblem]] = {
    errno.ENOENT: NotFound,
    errno.ENOTDIR: NotDirectory,
    errno.EISDIR: IsDirectory,
    errno.EACCES: AccessDenied,
    errno.EPERM: AccessDenied,
    errno.ENXIO: NotFile,
}


@contextlib.contextmanager
def as_file_problem(path: str) -> Generator[None]:
    """Turn an OSError about a path into a `FileProblem`."""
    try:
        yield
    except OSError as error:
        kind = BY_NUMBER.get(error.errno or 0, FileProblem)
        raise kind(f"{path}: {(error.strerror or str(error)).lower()}") from error
