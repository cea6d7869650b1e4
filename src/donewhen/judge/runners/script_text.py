"""Returns what a named script or target of a repository runs, as text. Reads files of the base only, within limits.

Nothing is run, and no file outside of the directory is opened.
"""

import json
import re
from typing import cast

from donewhen.short_lines import short_lines
from donewhen.workspace.beneath import Root

MOST_BYTES = 1024 * 1024


def text_of(directory: Root, *names: str) -> str:
    """Return the content of the first of these files that exists; otherwise an empty text."""
    return short_lines(_text_of(directory, *names))


def _text_of(directory: Root, *names: str) -> str:
    contents = (directory.read_inside(name, MOST_BYTES) for name in names)
    return next((content.decode("utf-8", "replace") for content in contents if content is not None), "")


def package_script(directory: Root, name: str, file: str = "package.json") -> str:
    """Return a script of package.json, or of composer.json, which has the same form and also allows lists."""
    try:
        manifest: object = json.loads(_text_of(directory, file) or "{}")
    except (ValueError, RecursionError):
        return ""
    script = _entry(_entry(manifest, "scripts"), name)
    if isinstance(script, list):
        return "\n".join(line for line in cast("list[object]", script) if isinstance(line, str))
    return script if isinstance(script, str) else ""


def _entry(value: object, key: str) -> object:
    return cast("dict[str, object]", value).get(key) if isinstance(value, dict) else None


def make_recipe(directory: Root, target: str) -> str:
    """Return the recipe lines of a Makefile target and of its dependencies. Without a target, use the first."""
    text = text_of(directory, "GNUmakefile", "makefile", "Makefile")
    return "\n".join(_recipe(text.replace("\\\n", " ").splitlines(), target, set()))


def _recipe(lines: list[str], target: str, seen: set[str]) -> list[str]:
    seen.add(target)
    found, is_in = list[str](), False
    for line in lines:
        if line.startswith("\t"):
            found += [line.strip().lstrip("@-+ ")] if is_in else []
            continue
        rule = re.match(r"([\w./%-][^:=#]*):(?!=)([^=#]*)", line)
        if rule is None:
            is_in = is_in and not line.strip()
            continue
        names = rule[1].split()
        target = target or (names[0] if not names[0].startswith(".") else "")
        is_in = target in names
        for needed in rule[2].split() if is_in else []:
            found += _recipe(lines, needed, seen) if needed not in seen and len(seen) < 20 else []
    return found


def just_recipe(directory: Root, target: str) -> str:
    found, is_in = list[str](), False
    for line in text_of(directory, "justfile", "Justfile", ".justfile").splitlines():
        if not line.startswith((" ", "\t")):
            name = re.match(r"@?([\w-]++)[^:=]*+:(?!=)", line)
            is_in = name is not None and (name[1] == target or (not target and not found))
        elif is_in:
            found.append(line.strip().lstrip("@-"))
    return "\n".join(found)
