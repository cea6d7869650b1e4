"""donewhen on a machine whose file systems have no hard links: `no_hard_links.py ERRNO ARGUMENT...`.

A system call filter gives that answer to every attempt to make one, in this process and all that it starts. Some
file systems answer so (FAT, some network and FUSE ones), but few machines can mount one. With 0 there is no filter.
"""

import ctypes
import errno
import os
import platform
import runpy
import struct
import sys
import tempfile

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2
LOAD, EQUALS, RETURN, ALLOW, FAIL = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000
LINK_CALLS = {"x86_64": (86, 265), "aarch64": (37,)}
"""link and linkat."""


def refuse_links(answer: int) -> None:
    code = [(LOAD, 0, 0, 0)]
    for number in LINK_CALLS[platform.machine()]:
        code += [(EQUALS, 0, 1, number), (RETURN, 0, 0, FAIL | answer)]
    program = b"".join(struct.pack("=HBBI", *line) for line in [*code, (RETURN, 0, 0, ALLOW)])
    held = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    for option, *values in ((PR_SET_NO_NEW_PRIVS, 1, 0), (PR_SET_SECCOMP, FILTER, described)):
        if libc.prctl(option, *(ctypes.c_ulong(one) if isinstance(one, int) else one for one in values), 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")


def link_answer() -> int:
    """The answer to an attempt to make a link; 0 for success."""
    with tempfile.TemporaryDirectory() as name, tempfile.NamedTemporaryFile(dir=name) as file:
        try:
            os.link(file.name, f"{name}/link")
        except OSError as error:
            return error.errno or errno.EIO
        return 0


if __name__ == "__main__":
    wanted = int(sys.argv[1])
    if wanted:
        refuse_links(wanted)
    assert link_answer() == wanted
    sys.argv = ["donewhen", *sys.argv[2:]]
    runpy.run_module("donewhen", run_name="__main__")
