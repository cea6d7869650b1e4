"""Which paths and modules a text names. Pure, and without knowledge of any language but the word `import`.

The text may be a command, a script, a source file or a manifest. It says what the text could mean, not what it does.
"""

import re
from collections.abc import Iterator

WORD = re.compile(r"[\w.@+/-]+")
IMPORT = re.compile(r"^[^\S\n]*+(?:from|import)[^\S\n]++([\w.]++)(?:[^\S\n]++import[^\S\n]++(\w++))?", re.MULTILINE)
LONGEST = 400
"""Longer words are not names of files."""


def mentioned_names(text: str) -> frozenset[str]:
    """Return paths without a leading `./` or `../`, the directories above them with a final `/`, and modules."""
    names: set[str] = set()
    for word in dict.fromkeys(WORD.findall(text)):
        if len(word) <= LONGEST:
            names.update(_path_names(word))
    for module, member in IMPORT.findall(text):
        if len(module) <= LONGEST:
            names.update(_module_names(module.strip("."), member))
    return frozenset(names)


def names_of_file(path: str) -> frozenset[str]:
    """Return the names with which another file would mention a file: its path, and its module."""
    stem, dot, _ = path.rpartition(".")
    module = stem.removesuffix("/__init__").removesuffix("/__main__").replace("/", ".")
    return frozenset({path, f"import {module}"} if dot and stem.rpartition("/")[2] else {path})


def _path_names(word: str) -> Iterator[str]:
    parts = [part for part in word.rstrip(".").split("/") if part not in ("", ".", "..")]
    if parts:
        yield "/".join(parts)
        yield from ("/".join(parts[:depth]) + "/" for depth in range(1, len(parts)))
    if word.endswith("/"):
        yield "/".join(parts) + "/"
    if "/" not in word and "." in word:
        yield f"import {word}"  # an entry point in a manifest: `name = "package.module:function"`


def _module_names(module: str, member: str) -> Iterator[str]:
    parts = module.split(".")
    yield from (f"import {'.'.join(parts[:depth])}" for depth in range(1, len(parts) + 1))
    if member:
        yield f"import {module}.{member}"
