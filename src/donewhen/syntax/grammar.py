"""Grammars: the language of a file, and its text as a syntax tree. Each grammar is loaded on first use.

A file without a grammar is not an error: `language_of` returns None and the caller handles it. A malicious text can
keep a parser busy for minutes or crash the process, so untrusted text must be parsed in a separate process that may
die.
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
"""Packages whose module or function name does not follow the language name."""


class SourceUnreadable(Exception):
    """A text that cannot be parsed as a program of its language; the message says why."""


def language_of(path: str) -> LanguageName | None:
    """Return the language for the file name extension; None if there is no grammar for it."""
    name = path.rsplit("/", 1)[-1].lower()
    dot = name.rfind(".")
    return _ENDINGS.get(name[dot:]) if dot > 0 else None


def parse(language: LanguageName, text: bytes) -> Tree:
    """Return the syntax tree of a text, with or without errors in it."""
    if len(text) > MOST_BYTES:
        raise SourceUnreadable(f"{len(text)} bytes are more than the parser accepts ({MOST_BYTES})")
    return _parser(language).parse(text)


@functools.cache
def _parser(language: LanguageName) -> Parser:
    module, function = _MODULES.get(language, (f"tree_sitter_{language}", "language"))
    pointer: object = getattr(importlib.import_module(module), function)()
    return Parser(Language(pointer))
