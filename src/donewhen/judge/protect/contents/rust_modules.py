"""Finds the file of a Rust module as the compiler does: `mod a;` is a.rs or a/mod.rs, unless `#[path]` names another.

Pure: a function returns the text of a file. Nothing is expanded, so a module that a macro declares is not found.
"""

import posixpath
import re
from collections.abc import Callable

from donewhen.judge.protect.contents.accepted_part import FileUnreadable
from donewhen.judge.protect.contents.rust_items import RustItem, attribute_spans, items, masked, normal_form
from donewhen.records import frozen

ReadSource = Callable[[str], str | None]
"""Returns the text of a file; None if there is no such file, or it cannot be read."""
ROOTS = frozenset({"mod.rs", "lib.rs", "main.rs"})
ROOT_DIRECTORIES = frozenset({"bin", "tests", "examples", "benches"})
PATH = re.compile(r"#\s*\[\s*path\s*=")
PLAIN_TEXT = re.compile(r'\s{0,9}r?(#{0,9})"([^"\\]{0,400})"\1\s{0,9}\]')


@frozen
class RustSource:
    path: str
    text: str
    mask: str
    named: bool = False
    """True if `#[path]` names the file: its modules are then beside it."""


@frozen
class RustBody:
    """A file, or the body of a module inside of it."""

    source: RustSource
    start: int
    end: int
    inside: tuple[str, ...] = ()
    """The modules of the file around the body."""

    def items(self) -> list[RustItem]:
        return items(self.source.text, self.source.mask, self.start, self.end)

    @property
    def directories(self) -> tuple[str, ...]:
        """Where files of its modules may be. The roots of a package are not always known by name."""
        above, name = posixpath.split(self.source.path)
        below = posixpath.join(above, name.removesuffix(".rs"))
        is_root = name in ROOTS or posixpath.basename(above) in ROOT_DIRECTORIES
        places = (above,) if is_root else (above, below) if self.source.named else (below, above)
        return tuple(posixpath.join(place, *self.inside) for place in places)


def body_of_file(path: str, text: str, named: bool = False) -> RustBody:
    return RustBody(RustSource(path, text, masked(text), named), 0, len(text))


def module_body(around: RustBody, item: RustItem, path: str, read: ReadSource) -> RustBody | None:
    """Return the body of a module, in the same file or in its own; None if it has none.

    `path` is the value of its `#[path]`, or empty.
    """
    if item.body:
        return RustBody(around.source, *item.body, (*around.inside, item.name))
    for file in module_files(around, item.name, path):
        text = read(file)
        if text is not None:
            return body_of_file(file, text, named=bool(path))
    return None


def module_files(around: RustBody, name: str, path: str) -> tuple[str, ...]:
    """Return the paths at which the file of a module may be, in order."""
    name = name.removeprefix("r#")
    if not path:
        found = (f"{place}/{name}{end}" for place in around.directories for end in (".rs", "/mod.rs"))
    elif around.inside:
        found = (posixpath.join(place, path) for place in around.directories)
    else:
        found = (posixpath.join(posixpath.dirname(around.source.path), path),)
    return tuple(posixpath.normpath(file).lstrip("/") for file in found)


def other_file(path: str) -> str:
    """Return the other path at which the file of the same module may be."""
    is_directory = path.endswith("/mod.rs")
    return f"{path.removesuffix('/mod.rs')}.rs" if is_directory else f"{path.removesuffix('.rs')}/mod.rs"


def path_attribute(source: RustSource, item: RustItem) -> str:
    """Return the value of `#[path]`; empty if there is none. Raise FileUnreadable if it is not plain text."""
    found = ""
    for start, end in attribute_spans(source.mask, item):
        if match := PATH.match(source.mask, start, end):
            value = PLAIN_TEXT.match(source.text, match.end(), end)
            if found or not value or not value[2]:
                raise FileUnreadable
            found = value[2]
    return found


def conditions(source: RustSource, item: RustItem) -> tuple[str, ...]:
    """Return the attributes that decide if an item is compiled, or how, in a form without spaces."""
    spans = attribute_spans(source.mask, item)
    return tuple(normal_form(source.text[start:end]) for start, end in spans if "cfg" in source.mask[start:end])
