"""Grammars: which language a file is written in, and its text as a tree. Each one is loaded when it is first needed.

A file without a grammar is not an error: whoever asks is told so, and says so. A text that is made for it can keep a
parser busy for minutes, or kill the process it runs in: what others wrote is read in a process that may die.
"""

import functools
import importlib
from typing import Literal, get_args

from tree_sitter import Language, Parser, Tree

LanguageName = Literal["python", "javascript", "typescript", "tsx", "go", "rust", "java", "c", "cpp", "ruby", "php"]
LANGUAGES: tuple[LanguageName, ...] = get_args(LanguageName)

MOST_BYTES = 2 * 1024 * 1024

_ENDINGS: dict[str, LanguageName] = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".c": "c",
    **dict.fromkeys((".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp"),
    **dict.fromkeys((".rb", ".rake", ".gemspec"), "ruby"),
    ".php": "php",
}
_MODULES = {
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "php": ("tree_sitter_php", "language_php"),
}
"""Wheels whose names are not those of their languages."""


class Unreadable(Exception):
    """A text that cannot be taken for a program of its language; the message says why."""


def language_of(path: str) -> LanguageName | None:
    """The language a path's ending stands for; None when there is no grammar for it."""
    name = path.rsplit("/", 1)[-1].lower()
    dot = name.rfind(".")
    return _ENDINGS.get(name[dot:]) if dot > 0 else None


def parsed(language: LanguageName, text: bytes) -> Tree:
    """The tree of a text, with or without errors in it."""
    if len(text) > MOST_BYTES:
        raise Unreadable(f"{len(text)} bytes are more than a parser is given ({MOST_BYTES})")
    return _parser(language).parse(text)


@functools.cache
def _parser(language: LanguageName) -> Parser:
    module, function = _MODULES.get(language, (f"tree_sitter_{language}", "language"))
    pointer: object = getattr(importlib.import_module(module), function)()
    return Parser(Language(pointer))
