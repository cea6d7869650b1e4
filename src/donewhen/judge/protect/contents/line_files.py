"""Line-based files with product and judge settings: setup.cfg by section, go.mod by directive, Gemfile by declaration.

A Gemfile is code, so only lines that are plain declarations may differ. With any other difference it is restored from
the base. So is a text whose lines could be split differently by different readers.
"""

import configparser
import re
from collections.abc import Collection, Iterator

from donewhen.judge.protect.contents.accepted_part import ALL, NOTHING, AcceptedPart, FileUnreadable, lines
from donewhen.judge.protect.contents.pyproject import is_product_section
from donewhen.judge.protect.names.judging_tools import TOOLS, is_plugin_group

HEADER = re.compile(r"\[(?P<name>[^\]]+)\]\s*(?:[#;].*)?")
ENTRY_POINTS = "options.entry_points"


def setup_cfg(base: str, candidate: str, words: Collection[str]) -> AcceptedPart:
    old, new = _sections(base), _sections(candidate)
    before, after = _parsed(base), _parsed(candidate)
    changed = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    reverted = dict.fromkeys(name for name in changed if not _is_product(name, before, after, words))
    if not reverted:
        return ALL
    order = [*old, *(name for name in new if name not in old)]
    result = "".join((old if name in reverted else new).get(name, "") for name in order)
    expected = {name: (before if name in reverted else after).get(name) for name in order if name}
    if _parsed(result) != {name: values for name, values in expected.items() if values is not None}:
        return NOTHING
    return AcceptedPart(result.encode(), tuple(reverted))


def changed_sections(base: str, candidate: str) -> set[str]:
    """Return the names of the sections of a setup.cfg that differ."""
    _sections(candidate)  # raises for a text that readers treat differently
    before, after = _parsed(base), _parsed(candidate)
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _is_product(
    name: str, before: dict[str, dict[str, str]], after: dict[str, dict[str, str]], words: Collection[str]
) -> bool:
    if name != ENTRY_POINTS:
        return is_product_section(name, words)
    old, new = before.get(name, {}), after.get(name, {})
    groups = {group for group in old.keys() | new.keys() if old.get(group) != new.get(group)}
    return not any(is_plugin_group(group) for group in groups) and not _replaces_a_tool(new)


def _replaces_a_tool(entry_points: dict[str, str]) -> bool:
    scripts = "\n".join(entry_points.get(group, "") for group in ("console_scripts", "gui_scripts"))
    return any(line.partition("=")[0].strip() in TOOLS for line in scripts.splitlines() if line.strip())


def _sections(text: str) -> dict[str, str]:
    """Return the text of each section with its header. Text before the first section has the empty name."""
    found: dict[str, list[str]] = {"": []}
    name = ""
    lines(text)  # raises for unclear line ends: the format does not define what ends a line
    for line in text.splitlines(keepends=True):
        header = HEADER.fullmatch(line.rstrip("\r\n"))
        if header:
            name = header["name"]
            if name in found:
                raise FileUnreadable
            found[name] = []
        elif line.lstrip().startswith("["):
            raise FileUnreadable  # readers of this format treat an indented header differently
        found[name].append(line if line.endswith("\n") else line + "\n")
    return {name: "".join(section) for name, section in found.items()}


def _parsed(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(default_section="\0")
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise FileUnreadable from error
    return {name: dict(parser.items(name)) for name in parser.sections()}


PRODUCT_DIRECTIVES = ("module", "go", "require", "retract")


def go_mod(base: str, candidate: str, words: Collection[str]) -> AcceptedPart:
    del words
    old, new = list(_directives(base)), list(_directives(candidate))
    kept = [text for directive, text in old if directive not in PRODUCT_DIRECTIVES]
    asked = [text for directive, text in new if directive not in PRODUCT_DIRECTIVES]
    if kept == asked:
        return ALL
    product = [text for directive, text in new if directive in PRODUCT_DIRECTIVES]
    parts = sorted({*kept} ^ {*asked}) or ["order of directives"]
    return AcceptedPart(("\n".join((*product, *kept)) + "\n").encode(), tuple(parts))


def _directives(text: str) -> Iterator[tuple[str, str]]:
    """Yield each directive with its text, one per line; blocks are split into single directives."""
    block = ""
    for line in lines(text):
        words = line.partition("//")[0].split() if "// indirect" not in line else line.split()
        if not words:
            continue
        if block:
            if words == [")"]:
                block = ""
            else:
                yield block, " ".join((block, *words))
        elif words[-1] == "(" and len(words) == 2:
            block = words[0]
        elif "(" in words or ")" in words:
            raise FileUnreadable
        else:
            yield words[0], " ".join(words)
    if block:
        raise FileUnreadable


GEM = re.compile(
    r"""\s*+gem\s*+\(?\s*+["'][\w.-]++["']"""
    r"""(?>(?:\s*+,\s*+(?:["'][^"'#{}]*+["']|\w++:\s*+[:\w\[\]]++(?>(?:[, ]++[:\w\[\]]++)*)))*)\s*+\)?\s*+(?:\#.*)?"""
)
PLAIN = re.compile(r"""\s*+(?:\#.*|(?:ruby\s++["'][\d.~>= ]++["']|group\s++(?>(?::\w++[\s,]*+)+)(?:do)?|end)?\s*+)""")


def gemfile(base: str, candidate: str, words: Collection[str]) -> AcceptedPart:
    """Accept a Gemfile only if plain declarations of gems differ. It is Ruby code that runs when the runner starts."""
    del words
    old, new = lines(base), lines(candidate)
    changed = set(old) ^ set(new)
    if all(PLAIN.fullmatch(line) or _is_plain_gem(line) for line in changed) and _blocks(new) == _blocks(old):
        return ALL
    return NOTHING


def _is_plain_gem(line: str) -> bool:
    found = GEM.fullmatch(line)
    return bool(found) and not re.search(r"\b(?:path|git|github|gist|bitbucket|source|branch|ref|tag)\s*:", line)


def _blocks(texts: list[str]) -> list[str]:
    """Return the lines that are neither gems nor plain, in order."""
    return [line for line in texts if not PLAIN.fullmatch(line) and not _is_plain_gem(line)]
