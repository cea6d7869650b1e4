"""A file in memory that hands data over to another process, which cannot change it."""

import contextlib
import fcntl
import os

SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


def memory_file(content: bytes, held: contextlib.ExitStack) -> int:
    """Return a sealed memory file. A process that gets it can neither change it nor use it to fill the memory."""
    fd = os.memfd_create("donewhen", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    held.callback(os.close, fd)
    left = memoryview(content)
    while left:
        left = left[os.write(fd, left) :]
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    return fd
