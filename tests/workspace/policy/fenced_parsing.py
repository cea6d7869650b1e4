"""A program that parses the texts on standard input where a read beyond the C library's character table is deadly.

Elsewhere such a read may be harmless, depending on what the kernel has put after the table. Here nothing is there,
on any machine. `bare` gives the texts to the parser unchanged, `guarded` to `grammar.parse`. It is not a test:
`test_deadly_text` starts it and looks at how it ends.
"""

import ctypes
import json
import mmap
import resource
import sys
from collections.abc import Callable
from contextlib import suppress

import tree_sitter_bash
from tree_sitter import Language, Parser

from donewhen.workspace.policy.grammar import Unread, parse

ENTRY = ctypes.sizeof(ctypes.c_ushort)
BELOW, WHOLE = 128 * ENTRY, 384 * ENTRY
"""The table starts at character -128, for signed characters, and ends at 255."""
FENCE = 0x110000 * ENTRY
"""As far as the largest character reaches."""


def fence() -> mmap.mmap:
    """Move the table to the end of a page that nothing readable follows; it lives as long as the returned object."""
    libc = ctypes.CDLL(None)
    libc.__ctype_b_loc.restype = ctypes.POINTER(ctypes.c_void_p)
    table = libc.__ctype_b_loc()
    memory = mmap.mmap(-1, mmap.PAGESIZE + FENCE)
    end = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + mmap.PAGESIZE
    ctypes.memmove(end - WHOLE, table[0] - BELOW, WHOLE)
    if libc.mprotect(ctypes.c_void_p(end), ctypes.c_size_t(FENCE), 0):
        raise OSError("there is no fence")
    table[0] = end - WHOLE + BELOW
    return memory


def bare() -> Callable[[str], object]:
    parser = Parser(Language(tree_sitter_bash.language()))
    return lambda text: parser.parse(text.encode())


def guarded(text: str) -> None:
    with suppress(Unread):
        parse(text)


def main(how: str) -> None:
    texts = json.load(sys.stdin)
    reader = bare() if how == "bare" else guarded
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    memory = fence()
    for text in texts:
        reader(text)
    sys.stdout.write(f"{len(texts)} texts beside {len(memory)} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
