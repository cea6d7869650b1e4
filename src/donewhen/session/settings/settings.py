"""The only reader of configuration. Precedence: defaults < the user's file < the repository's file < environment.

Each value keeps its source. A key of the repository's file that widens counts only if the file's exact content was
trusted (`trust`). Otherwise loading stops and names the key, before anything is started.
"""

import contextlib
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from donewhen.errors import BadInput, NeedsPerson
from donewhen.printable import shortened
from donewhen.session.settings import schema
from donewhen.session.settings.schema import Key, Value
from donewhen.session.settings.trust import TrustBook
from donewhen.toml import MOST_BYTES, BadToml, file_content, parse_toml
from donewhen.workspace.beneath import Root

FILE_NAME = "donewhen.toml"
PREFIX = "DONEWHEN__"
AGENT_PREFIX = "agent."
Table = dict[str, Value]


class Setting(NamedTuple):
    value: Value
    source: str
    """Where the value came from: "default", a file's path, or a variable's name."""
    model_use: str = ""
    """For `model.base_url`: the `model.use` of the same file or environment. It names the provider of that server."""


class Widening(NamedTuple):
    """A key of the repository's file that needs trust."""

    key: str
    value: Value


Values = dict[tuple[str, str], Setting]


class Settings:
    """Merged values, by table and key."""

    def __init__(
        self, values: Values, file: Path | None, content: Table | None = None, also: tuple[Path, ...] = ()
    ) -> None:
        self._values = values
        self._content = content or {}
        self.file = file
        """The repository's donewhen.toml, if there is one."""
        self.also = also
        """Other files that state the contract."""

    def get(self, table: str, key: str) -> Setting:
        return self._values[table, key]

    def text(self, table: str, key: str) -> str:
        return cast("str", self.get(table, key).value)

    def texts(self, table: str, key: str) -> tuple[str, ...]:
        return tuple(cast("list[str]", self.get(table, key).value))

    def number(self, table: str, key: str) -> float:
        return cast("float", self.get(table, key).value)

    def whole(self, table: str, key: str) -> int:
        return cast("int", self.get(table, key).value)

    def flag(self, table: str, key: str) -> bool:
        return cast("bool", self.get(table, key).value)

    def tables(self, name: str) -> list[Table]:
        """Return the entries of a list of tables in the repository's file, such as `[[check]]`, with their defaults."""
        defaults = {key: spec.default for key, spec in schema.LISTS[name].items()}
        return [{**defaults, **entry} for entry in cast("list[Table]", self._content.get(name, []))]

    def agents(self) -> dict[str, Table]:
        """Return the `[agent.NAME]` tables by name, with defaults. Single keys are under the table `agent.NAME`."""
        found: dict[str, Table] = {}
        for (table, key), setting in self._values.items():
            if table.startswith(AGENT_PREFIX):
                defaults = {name: spec.default for name, spec in schema.AGENT.items()}
                found.setdefault(table.removeprefix(AGENT_PREFIX), defaults)[key] = setting.value
        return found

    def with_value(self, table: str, key: str, value: Value, source: str) -> "Settings":
        """Return the settings with one value that was decided elsewhere."""
        return Settings({**self._values, (table, key): Setting(value, source)}, self.file, self._content, self.also)

    def with_checks(self, checks: Sequence[Mapping[str, Value]], also: tuple[Path, ...]) -> "Settings":
        """Return the settings with the checks of a contract that was put together elsewhere."""
        return Settings(self._values, self.file, {**self._content, "check": list(checks)}, also)

    def with_contract_of(self, file: Path, content: Table) -> "Settings":
        """Return the settings with the contract of another file."""
        given = cast("Table", content.get("contract", {}))
        values = {
            ("contract", key): Setting(given[key], str(file)) if key in given else Setting(spec.default, "default")
            for key, spec in schema.TABLES["contract"].items()
        }
        return Settings({**self._values, **values}, file, content, self.also)

    @contextlib.contextmanager
    def naming_source(self, table: str, key: str) -> Generator[None]:
        """Put the source of a value in front of every BadInput in this block."""
        try:
            yield
        except BadInput as error:
            raise BadInput(f"{self.get(table, key).source}: {error}") from error

    def by_key(self) -> Iterator[tuple[tuple[str, str], Setting]]:
        """Return every value with its table and key."""
        return iter(self._values.items())


def load(start: Path, top: Path, environment: Mapping[str, str], trust: TrustBook | None) -> Settings:
    """Return the settings for work in `start`, a directory of the repository whose root is `top`.

    Without a trust book, trust is not checked: for callers that use only keys that cannot widen anything.
    """
    values = without_repository(environment)
    file = find(start, top)
    content: Table = {}
    if file is not None:
        real, written, content = read_inside(file, top)
        if trust is not None and (widened := widening_keys(content, values)) and not trust.holds(real, written):
            asks = f"'{widened[0].key}' asks for more than the default"
            raise NeedsPerson(f"{file}: {asks}; read it, then run: donewhen trust")
        _merge(values, content, str(file))
    _merge_environment(values, environment)
    return Settings(values, file, content)


def load_some(
    start: Path, environment: Mapping[str, str], trust: TrustBook, tables: Sequence[str] = ("storage",)
) -> Settings:
    """Return the settings for verbs that only read: only some tables, and an untrusted file is ignored."""
    values = without_repository(environment)
    top = repository_above(start) or start
    file = find(start, top)
    if file is not None and is_trusted(file, top, trust):
        real, written, content = read_inside(file, top)
        if trust.holds(real, written):  # checks the bytes that are used: the file may have changed since
            _merge(values, {table: value for table, value in content.items() if table in tables}, str(file))
    _merge_environment(values, environment)
    return Settings(values, file)


def repository_above(start: Path) -> Path | None:
    """Return the root of the repository that a directory seems to be in. Nothing is opened."""
    return next((one for one in (start, *start.parents) if (one / ".git").exists()), None)


def without_repository(environment: Mapping[str, str]) -> Values:
    """Return the defaults and the values of the user's own file."""
    values = {
        (table, key): Setting(spec.default, "default")
        for table, keys in schema.TABLES.items()
        for key, spec in keys.items()
    }
    own = user_file(environment)
    if own is not None and os.path.lexists(own):
        _merge(values, read(own), str(own))
    return values


def find(start: Path, top: Path) -> Path | None:
    """Return the nearest donewhen.toml from `start` upward, not beyond `top`. `read` refuses one that is not a file."""
    for directory in (start, *start.parents):
        candidate = directory / FILE_NAME
        if os.path.lexists(candidate):
            return candidate
        if directory == top:
            return None
    return None


def user_file(environment: Mapping[str, str]) -> Path | None:
    """Return the user's own file, which needs no trust."""
    base, home = environment.get("XDG_CONFIG_HOME", ""), environment.get("HOME", "")
    if os.path.isabs(base):
        return Path(base, "donewhen", "config.toml")
    return Path(home, ".config", "donewhen", "config.toml") if os.path.isabs(home) else None


def read(file: Path) -> Table:
    """Read a configuration file and check it against the schema."""
    try:
        return check_content(file, parse_toml(file_content(file)))
    except BadToml as error:
        raise BadInput(f"{file}: {error}") from error


def read_inside(file: Path, top: Path, is_loop: bool = False) -> tuple[Path, bytes, Table]:
    """Read a repository's file. Return its real path, the bytes that were read, and the parsed content.

    With `is_loop` the file is one loop, with its keys at the top.

    A link out of the repository is refused: trust in another file must not count for this repository. The real path is
    opened without following a link, so that the bytes are its own even if the path is replaced meanwhile.
    """
    try:
        real, written = _bytes_inside(file, top)
        content = parse_toml(written)
        if is_loop:
            check_loop(file, content)
        return real, written, content if is_loop else check_content(file, content)
    except BadToml as error:
        raise BadInput(f"{file}: {error}") from error


def _bytes_inside(file: Path, top: Path) -> tuple[Path, bytes]:
    real, above = Path(os.path.realpath(file)), Path(os.path.realpath(top))
    if not real.is_relative_to(above):
        raise BadInput(f"{file} is a link out of the repository, which is not followed")
    try:
        written = Root(above).read(str(real.relative_to(above)), MOST_BYTES + 1)
    except OSError:
        written = None
    if written is None or len(written) > MOST_BYTES:
        file_content(file)  # raises an error that says what is wrong with it
        raise BadToml("changed while it was read")
    return real, written


def check_content(file: Path, content: Table) -> Table:
    for name, value in content.items():
        _check_top(file, name, value)
    return content


def check_loop(source: Path, loop: Table) -> None:
    """Check the table of a loop against the schema. `source` is named in front of what is wrong."""
    _check_table(source, "", loop, schema.LOOP)


def _check_top(file: Path, name: str, value: Value) -> None:
    if name in schema.TABLES:
        _check_table(file, name, value, schema.TABLES[name])
    elif name in schema.LISTS:
        for number, entry in enumerate(_list(file, name, value)):
            _check_table(file, f"{name}[{number}]", entry, schema.LISTS[name])
    elif name == "agent":
        for agent, keys in _table(file, name, value).items():
            _check_table(file, f"{AGENT_PREFIX}{shortened(agent)}", keys, schema.AGENT)
            _check_agent(file, agent, cast("Table", keys))
    else:
        known = ", ".join([*schema.TABLES, *schema.LISTS, "agent"])
        raise BadInput(f"{file}: unknown key '{shortened(name)}'; known keys: {known}")


def _check_agent(file: Path, name: str, given: Table) -> None:
    from donewhen.session.settings.agent_settings import (
        problem,  # loaded on use: it reads the known agents, and most files name none
    )

    if wrong := problem(name, given):
        key, reason = wrong
        raise BadInput(f"{file}: '{AGENT_PREFIX}{shortened(name)}{'.' if key else ''}{shortened(key)}' {reason}")


def _check_table(file: Path, name: str, value: Value, keys: Mapping[str, Key]) -> None:
    above = f"{name}." if name else ""
    for key, inner in _table(file, name, value).items():
        if key not in keys:
            raise BadInput(f"{file}: unknown key '{above}{shortened(key)}'; known keys: {', '.join(keys)}")
        _check_value(str(file), f"{above}{key}", inner, keys[key])
        if keys[key].inner and isinstance(inner, list):
            for number, entry in enumerate(cast("list[Value]", inner)):
                _check_table(file, f"{above}{key}[{number}]", entry, keys[key].inner)
        elif keys[key].inner:
            _check_table(file, f"{above}{key}", inner, keys[key].inner)


def _check_value(source: str, name: str, value: Value, key: Key) -> None:
    if not key.fits(value):
        raise BadInput(f"{source}: '{name}' must be {key.kind}, not {_shown(value)}")


def _table(file: Path, name: str, value: Value) -> Table:
    if not isinstance(value, dict):
        raise BadInput(f"{file}: '{name}' must be a table, not {_shown(value)}")
    return cast("Table", value)


def _list(file: Path, name: str, value: Value) -> list[Value]:
    if not isinstance(value, list):
        raise BadInput(f"{file}: '{name}' must be a list of tables ([[{name}]]), not {_shown(value)}")
    return cast("list[Value]", value)


def _shown(value: Value) -> str:
    return shortened(repr(value))


def widening_keys(content: Table, held: Values) -> list[Widening]:
    """Return the keys of a repository's file that need trust, in schema order. `held` has the values without it."""
    found: list[Widening] = []
    for table, keys in schema.TABLES.items():
        given = cast("Table", content.get(table, {}))
        found += [
            Widening(f"{table}.{key}", given[key])
            for key, spec in keys.items()
            if key in given and spec.is_wider(given[key], held[table, key].value)
        ]
    found += [Widening(f"agent.{name}", keys) for name, keys in cast("Table", content.get("agent", {})).items()]
    for number, loop in enumerate(cast("list[Table]", content.get("loop", []))):
        found += widening_keys_of_loop(loop, f"loop[{number}].")
    return found


def widening_keys_of_loop(loop: Table, above: str = "") -> list[Widening]:
    return [
        Widening(f"{above}{key}", loop[key])
        for key, spec in schema.LOOP.items()
        if key in loop and spec.is_wider(loop[key], spec.default)
    ]


def is_trusted(file: Path, top: Path, trust: TrustBook) -> bool:
    """Return True if the current content of a repository's file was accepted; False if it cannot be read."""
    try:
        return trust.holds(*_bytes_inside(file, top))
    except (BadToml, BadInput):
        return False


def _merge(values: Values, content: Table, source: str) -> None:
    for table, keys in schema.TABLES.items():
        for key, value in cast("Table", content.get(table, {})).items():
            if keys[key].adds:
                held = cast("list[str]", values[table, key].value)
                value = list(dict.fromkeys([*cast("list[str]", value), *held]))
            values[table, key] = Setting(value, source)
    _note_model_use(values, content, source)
    for agent, keys in cast("dict[str, Table]", content.get("agent", {})).items():
        values |= {(AGENT_PREFIX + agent, key): Setting(value, source) for key, value in keys.items()}


def _note_model_use(values: Values, content: Mapping[str, Value], source: str) -> None:
    model = cast("Mapping[str, str]", content.get("model", {}))
    if "base_url" in model:
        values["model", "base_url"] = Setting(model["base_url"], source, model.get("use", ""))


def _merge_environment(values: Values, environment: Mapping[str, str]) -> None:
    given: dict[str, Table] = {}
    for name in sorted(environment):
        if not name.startswith(PREFIX):
            continue
        table, _, key = name.removeprefix(PREFIX).lower().partition("__")
        spec = schema.TABLES.get(table, {}).get(key)
        if spec is None:
            raise BadInput(f"{shortened(name)}: unknown setting '{shortened(table)}.{shortened(key)}'")
        value = _parse(environment[name], spec)
        _check_value(name, f"{table}.{key}", value, spec)
        values[table, key] = Setting(value, name)
        given.setdefault(table, {})[key] = value
    _note_model_use(values, given, f"{PREFIX}MODEL__BASE_URL")


def _parse(text: str, key: Key) -> Value:
    """Parse a variable's text as a TOML value if it is one. A bare word is text, and a list may be comma-separated."""
    try:
        value: Value = parse_toml(f"value = {text}")["value"]
    except BadToml:
        value = text
    if isinstance(value, str) and key.default == ():
        return [part.strip() for part in value.split(",") if part.strip()]
    return value if key.fits(value) else text
