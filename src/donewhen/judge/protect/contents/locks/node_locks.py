"""Readers for the lock files of npm, yarn (both formats) and pnpm."""

from collections.abc import Iterator

from donewhen.judge.protect.contents.accepted_part import FileUnreadable, lines
from donewhen.judge.protect.contents.json_text import read_json
from donewhen.judge.protect.contents.locks.sources import PUBLIC, Entry, LockSource, located, text_of
from donewhen.judge.protect.contents.locks.yaml_lines import yaml_leaves
from donewhen.judge.protect.contents.table_merge import Table, table

INSTALLED = "node_modules/"
SECTIONS = frozenset({"dependencies", "devDependencies", "optionalDependencies"})
DEEPEST = 200


def package_lock(text: str) -> Iterator[Entry]:
    """Yield the packages of a package-lock.json or npm-shrinkwrap.json of any version."""
    lock = read_json(text)
    for path, entry in table(lock.get("packages")).items():
        _, is_installed, name = path.rpartition(INSTALLED)
        if is_installed:
            yield from _npm_package(name, table(entry))
        elif path:
            yield text_of(table(entry).get("name", path)), LockSource("path", path)
    yield from _nested(table(lock.get("dependencies")), DEEPEST)


def _npm_package(name: str, entry: Table) -> Iterator[Entry]:
    real = text_of(entry.get("name", name))
    if real != name:
        yield name, LockSource("alias", real)
    resolved = entry.get("resolved")
    if entry.get("link"):
        yield name, LockSource("link", text_of(resolved))
    elif isinstance(resolved, str):
        yield name, located(real, resolved)
    else:
        yield name, requested(name, text_of(entry.get("version", "")))


def _nested(dependencies: Table, deepest: int) -> Iterator[Entry]:
    """Yield the packages in the form of the first version, in which dependencies contain others."""
    if not deepest:
        raise FileUnreadable
    for name, value in dependencies.items():
        entry = table(value)
        version, resolved = text_of(entry.get("version", "")), entry.get("resolved")
        yield from _fetched(name, version, resolved if isinstance(resolved, str) else "")
        yield from _nested(table(entry.get("dependencies")), deepest - 1)


def requested(name: str, version: str) -> LockSource:
    """Return the source that a version or range states: a plain one means the registry, `npm:` perhaps another name."""
    if version.startswith("npm:"):
        real, at, _ = version.removeprefix("npm:").rpartition("@")
        return LockSource("alias", real) if at and real and real != name else PUBLIC
    is_plain = ":" not in version and "/" not in version.partition("(")[0]
    return PUBLIC if is_plain else located(name, version)


def _fetched(name: str, version: str, resolved: str) -> Iterator[Entry]:
    """Yield the source of a package from what was requested and from the address that is really fetched."""
    source = requested(name, version)
    if source.kind == "alias" or not resolved:
        yield name, source
    if resolved:
        yield name, located(source.place if source.kind == "alias" else name, resolved)


def yarn_lock(text: str) -> Iterator[Entry]:
    """Yield the packages of a yarn.lock, of the classic format or of the one that is YAML."""
    return _berry(text) if text.startswith("__metadata:") or "\n__metadata:" in text else _classic(text)


def _classic(text: str) -> Iterator[Entry]:
    wanted: list[str] = []
    resolved = ""
    for line in [*lines(text), "end:"]:
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("  resolved "):
            resolved = line.removeprefix("  resolved ").strip('"')
        elif not line.startswith("  "):
            for each in wanted:
                yield from _fetched(*_parted(each), resolved)
            if not line.endswith(":"):
                raise FileUnreadable
            wanted, resolved = [word.strip().strip('"') for word in line[:-1].split(",")], ""


def _parted(descriptor: str) -> tuple[str, str]:
    """Return the name and the range in `name@range`. A scope starts with `@` too."""
    at = descriptor.find("@", 1)
    return (descriptor[:at], descriptor[at + 1 :]) if at > 0 else (descriptor, "")


def _berry(text: str) -> Iterator[Entry]:
    for path, value in yaml_leaves(text):
        if len(path) != 2 or path[1] != "resolution":
            continue
        real, source = _parted(value)
        for each in path[0].split(", "):
            name = _parted(each)[0]
            if name != real:
                yield name, LockSource("alias", real)
            yield name, PUBLIC if source.startswith("npm:") and "::" not in source else _berry_source(name, source)


def _berry_source(name: str, source: str) -> LockSource:
    if source.startswith("patch:"):
        # Yarn itself patches some packages, with patches that are built in.
        return PUBLIC if "#optional!builtin<" in source or "#~builtin<" in source else LockSource("path", "patch")
    if source.startswith("npm:"):
        return located(name, source.partition("__archiveUrl=")[2].replace("%3A", ":").replace("%2F", "/"))
    return located(name, source.partition("::")[0])


def pnpm_lock(text: str) -> Iterator[Entry]:
    for path, value in yaml_leaves(text):
        match path:
            case ("importers", _, section, name) | ("importers", _, section, name, "version") if section in SECTIONS:
                yield name, _pnpm_version(name, value)
            case (section, name) | (section, name, "version") if section in SECTIONS:
                yield name, _pnpm_version(name, value)
            case ("overrides", name):
                yield _parted(name.rpartition(">")[2])[0], requested(name, value)
            case ("patchedDependencies", name, *_):
                yield _parted(name)[0], LockSource("path", "patch")
            case ("packages", key, "resolution", *rest):
                yield _pnpm_package(key, rest, value)
            case _:
                pass


def _pnpm_version(name: str, value: str) -> LockSource:
    """Return the source that a resolved version states. Names of peers follow it in parentheses or after `_`."""
    version = value.partition("(")[0]
    if ":" in version:
        return requested(name, value)
    return PUBLIC if version[:1].isdigit() else LockSource("alias", _pnpm_name(version))


def _pnpm_name(key: str) -> str:
    """Return the name in `name@version`, or in `/name/version`, the form of older versions."""
    key = key.removeprefix("/")
    return _parted(key)[0] if "@" in key[1:] else key.rpartition("/")[0]


def _pnpm_package(key: str, rest: list[str], value: str) -> Entry:
    name = _pnpm_name(key)
    match rest:
        case ["directory"]:
            return name, LockSource("path", value)
        case ["tarball"]:
            return name, located(name, value)
        case ["repo"]:
            return name, LockSource("git", value)
        case ["integrity" | "type" | "commit" | "path" | "version" | "gitHosted"]:
            is_plain = ":" not in key.partition("(")[0]
            return name, PUBLIC if is_plain else located(name, _parted(key)[1])
        case _:
            raise FileUnreadable
