"""Version probe: asks a program for its version and keeps the answer for half a minute.

A probe must not contact its vendor, update itself or find credentials. It runs in an empty home, with a scrubbed
environment and, where the machine allows it, without a network. The cache holds only versions and error messages.
"""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from donewhen import __version__
from donewhen.engines.external.discover.profile import PLACEHOLDER, fill
from donewhen.records import frozen
from donewhen.workspace.files import write_atomically
from donewhen.workspace.process.command import Command, Confinement, End, Finished
from donewhen.workspace.sandbox import env_vars

if TYPE_CHECKING:
    from donewhen.workspace.process.launch import Launcher

TIMEOUT_SECS = 10.0
OVERLOADED_TIMES = 3
KEEP_SECS = 30.0
KEEP_BYTES = 4096
LONGEST_LINE = 120
PACKAGE_DEPTH = 4
VERSION = re.compile(r"\d{1,6}(?:\.\d{1,12}){1,3}(?:[-+.][0-9A-Za-z][0-9A-Za-z.-]{0,20})?", re.ASCII)
ROOTS = {
    "PYENV_ROOT": ".pyenv",
    "VOLTA_HOME": ".volta",
    "ASDF_DATA_DIR": ".asdf",
    "MISE_DATA_DIR": ".local/share/mise",
    "RBENV_ROOT": ".rbenv",
    "FNM_DIR": ".local/share/fnm",
}
"""Where shims of version managers look for the real programs, below the real home: the empty home would not show
them."""


class VersionAnswer(NamedTuple):
    version: str
    """Empty if the program runs but prints nothing that looks like a version."""
    trouble: str
    """Why it does not run; empty if it does."""


@frozen(kw_only=True)
class VersionQuery:
    program: str
    arguments: tuple[str, ...]
    env: Mapping[str, str]
    """The profile's own variables, among them those that keep an agent from updating itself."""
    package: str = ""
    """Name of the package that installs it."""


class ProbeCache:
    """Answers of the last half minute, in one file. A broken file, or entries from the future, count as no answers."""

    def __init__(self, file: Path, now: float) -> None:
        self._file = file
        self._now = now
        self._entries = {key: entry for key, entry in _entries(file).items() if self._is_fresh(entry)}

    def get(self, key: str) -> VersionAnswer | None:
        entry = self._entries.get(key)
        return VersionAnswer(str(entry.get("version", "")), str(entry.get("trouble", ""))) if entry else None

    def add(self, answers: Mapping[str, VersionAnswer], now: float) -> None:
        if answers:
            self._entries |= {key: {"at": now, **answer._asdict()} for key, answer in answers.items()}
            with contextlib.suppress(OSError):  # without the file, the next call asks again
                write_atomically(self._file, json.dumps(self._entries))

    def _is_fresh(self, entry: dict[str, Any]) -> bool:
        at = entry.get("at")
        return isinstance(at, int | float) and 0 <= self._now - at < KEEP_SECS


def _entries(file: Path) -> dict[str, dict[str, Any]]:
    found = _read(file)
    return {key: cast("dict[str, Any]", entry) for key, entry in found.items() if isinstance(entry, dict)}


def _read(file: Path) -> dict[str, Any]:
    """Return a JSON object; an empty one if the file holds anything else."""
    try:
        content: object = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}


def key(query: VersionQuery, environment: Mapping[str, str]) -> str:
    """Return the cache key. Other arguments, another PATH or a program that was replaced meanwhile give another key."""
    facts: list[Any] = [__version__, query.arguments, sorted(_variables(query, environment, "").items())]
    for path in (query.program, os.path.realpath(query.program)):
        info = os.stat(path)
        facts.append([path, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_mode])
    return hashlib.sha256(json.dumps(facts).encode("utf-8", "surrogateescape")).hexdigest()


def default_timeout() -> float:
    """Return how long a program may take to answer: longer on an overloaded machine."""
    return TIMEOUT_SECS * (OVERLOADED_TIMES if os.getloadavg()[0] > (os.cpu_count() or 1) else 1)


async def ask(
    launcher: "Launcher", query: VersionQuery, environment: Mapping[str, str], timeout_secs: float
) -> VersionAnswer:
    """Start the program with its version arguments and return its answer."""
    import tempfile  # cached answers do not need it

    with tempfile.TemporaryDirectory(prefix="donewhen-probe-", ignore_cleanup_errors=True) as home:
        command = Command(
            argv=[query.program, *query.arguments],
            cwd=home,
            env=_variables(query, environment, home),
            timeout_secs=timeout_secs,
            keep_bytes=KEEP_BYTES,
            confinement=Confinement(private_net=True),
        )
        finished = await launcher.run(command)
        if finished.end is End.COULD_NOT_START:  # perhaps because this machine forbids private networks
            finished = await launcher.run(replace(command, confinement=Confinement()))
    if finished.ok:
        return VersionAnswer(_printed_version(query, finished) or _package_version(query), "")
    return VersionAnswer("", _problem(finished, timeout_secs))


def _variables(query: VersionQuery, environment: Mapping[str, str], home: str) -> dict[str, str]:
    real = environment.get("HOME", "")
    roots = {name: f"{real}/{path}" for name, path in ROOTS.items() if real and os.path.isdir(f"{real}/{path}")}
    own = {name: fill(value, {"config": f"{home}/config"}) for name, value in query.env.items()}
    known = {name: value for name, value in own.items() if not PLACEHOLDER.search(value)}
    return {**roots, **env_vars.command_environment(environment), "TMPDIR": home, **known, "HOME": home}


def _printed_version(query: VersionQuery, finished: Finished) -> str:
    """Return the version in the output, only if a version was asked for: otherwise a number is unlikely to be one."""
    if not any("version" in word.lower() for word in query.arguments):
        return ""
    texts = (output.whole().decode("utf-8", "replace") for output in (finished.stdout, finished.stderr))
    return next((found[0] for text in texts if (found := VERSION.search(text))), "")


def _package_version(query: VersionQuery) -> str:
    """Return the version of the package that a program belongs to, npm or Python, if the program prints none."""
    above = list(Path(os.path.realpath(query.program)).parents)[:PACKAGE_DEPTH]
    name = re.sub(r"[-_.]+", "_", query.package).lower()
    for path in above[1:2] if name else ():
        for found in path.glob(f"lib/python3*/site-packages/{name}-*.dist-info"):
            return _valid_version(found.name.removesuffix(".dist-info").rpartition("-")[2])
    for path in above:
        if (path / "package.json").is_file():
            return _valid_version(_read(path / "package.json").get("version"))
    return ""


def _valid_version(text: object) -> str:
    found = VERSION.fullmatch(str(text))
    return found[0] if found else ""


def _problem(finished: Finished, timeout_secs: float) -> str:
    output = (finished.stderr.whole() or finished.stdout.whole()).decode("utf-8", "replace")
    match finished.end:
        case End.TIMED_OUT:
            return f"did not answer within {timeout_secs:g} s"
        case End.EXITED | End.SIGNALLED:
            how = f"signal {finished.signal}" if finished.signal else f"exit {finished.exit_code}"
            return f"ended with {how}{_last_line(output)}"
        case _:
            return f"could not be started: {_printable(finished.reason)}"


def _last_line(text: str) -> str:
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    return f": {_printable(lines[-1])}" if lines else ""


def _printable(text: str) -> str:
    shown = "".join(character for character in text if character.isprintable())
    return shown if len(shown) <= LONGEST_LINE else shown[: LONGEST_LINE - 1] + "…"
