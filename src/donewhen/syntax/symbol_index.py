"""Index of a project's symbols by file, to check whether a named symbol exists.

It is built from texts; a file is parsed on first use. Names can be written in the usual forms: `Shop.total`,
`Shop::total`, `Shop#total`, `total()`, `(*Shop).total`, or `*` for a whole file.
"""

import difflib
import re
from collections.abc import Iterable
from itertools import islice
from typing import Literal

from donewhen.records import frozen
from donewhen.syntax.declarations import Declaration, declarations_of
from donewhen.syntax.grammar import SourceUnreadable, language_of

NEAR = 3
_COMPARED = 3000
"""The largest number of names that are compared with a missing one."""


@frozen
class Lookup:
    """The result of looking up a symbol of a file."""

    answer: Literal["found", "no such file", "no such symbol", "no grammar"]
    declarations: tuple[Declaration, ...] = ()
    """The matching declarations; empty for a whole file."""
    near: tuple[str, ...] = ()
    """Similar names or paths, the most similar first."""
    why: str = ""
    """Why the file cannot be read."""


class Index:
    """Symbols of files, parsed on demand."""

    def __init__(self, files: Iterable[tuple[str, bytes]]) -> None:
        self._texts = dict(files)
        self._read: dict[str, tuple[Declaration, ...] | str] = {}

    @property
    def paths(self) -> list[str]:
        return list(self._texts)

    def find(self, path: str, symbol: str) -> Lookup:
        """Look up a symbol. The last part of a qualified name is enough."""
        path = path.removeprefix("./")
        if path not in self._texts:
            return Lookup("no such file", near=self._similar_paths(path))
        if symbol.strip() == "*":
            return Lookup("found")
        read = self.symbols(path)
        if isinstance(read, str):
            return Lookup("no grammar", why=read)
        wanted = _normalised(symbol)
        for name in (wanted, _without_module(wanted, path)):
            if name and (meant := _matching(read, name)):
                return Lookup("found", meant)
        return Lookup("no such symbol", near=_similar(wanted, (one.name for one in read)))

    def symbols(self, path: str) -> tuple[Declaration, ...] | str:
        """Return all declarations of a file, or why they are not known."""
        if path not in self._read:
            self._read[path] = _declarations(path, self._texts[path])
        return self._read[path]

    def _similar_paths(self, path: str) -> tuple[str, ...]:
        name = path.rsplit("/", 1)[-1]
        namesakes = [known for known in self._texts if known.rsplit("/", 1)[-1] == name]
        alike = difflib.get_close_matches(path, list(islice(self._texts, _COMPARED)), NEAR)
        return tuple(dict.fromkeys([*sorted(namesakes), *alike]))[:NEAR]


def _declarations(path: str, text: bytes) -> tuple[Declaration, ...] | str:
    language = language_of(path)
    if language is None:
        return "no grammar for this kind of file"
    try:
        return tuple(declarations_of(language, text))
    except SourceUnreadable as reason:
        return str(reason)


def _normalised(symbol: str) -> str:
    """Return a name in the form of declarations, from the forms that people write."""
    name = re.sub(r"\(\s*+(?:[*&]\s*+)?(\w++)\s*+\)\s*+\.", r"\1.", symbol.strip().strip("`"))
    name = re.sub(r"^(async |def |func |function |class |fn |interface |struct |enum |type |const )+", "", name)
    name = re.split(r"\(", name, maxsplit=1)[0] if not name.startswith("operator") else name
    name = re.sub(r"<[^<>]*>|\[[^\[\]]*\]$", "", name) if "operator" not in name else name
    name = name.replace(".prototype.", ".").replace("$", "")
    return re.sub(r"::|->|\\|(?<=\w)#|(?<=\w)/", ".", name).strip(". ")


def _without_module(name: str, path: str) -> str:
    """Return a name without the module that contains it, for names like `shop.cart.Cart.total`."""
    stem = path.rsplit("/", 1)[-1].split(".")[0]
    parts = name.split(".")
    places = [place for place, part in enumerate(parts) if part == stem]
    return ".".join(parts[places[0] + 1 :]) if places else ""


def _matching(declarations: tuple[Declaration, ...], name: str) -> tuple[Declaration, ...]:
    exact = tuple(one for one in declarations if one.name == name)
    return exact or tuple(one for one in declarations if one.name.endswith(f".{name}"))


def _similar(wanted: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return similar names; the right last part in the wrong container counts as similar."""
    known = list(islice(dict.fromkeys(names), _COMPARED))
    last = wanted.rsplit(".", 1)[-1]
    namesakes = [name for name in known if name.rsplit(".", 1)[-1] == last]
    by_last: dict[str, str] = {}
    for name in known:
        by_last.setdefault(name.rsplit(".", 1)[-1], name)
    alike = difflib.get_close_matches(wanted, known, NEAR)
    alike += [by_last[name] for name in difflib.get_close_matches(last, list(by_last), NEAR)]
    return tuple(dict.fromkeys([*namesakes, *alike]))[:NEAR]
