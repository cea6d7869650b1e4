"""What a program says about its version, asked once and kept for half a minute.

A probe must not phone home, update itself or find anybody's credentials: it runs in an empty home, with a scrubbed
environment and, where the machine allows it, without a network. What is kept holds versions and complaints only.
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
from donewhen.engines.external.profile import PLACEHOLDER, filled
from donewhen.records import frozen
from donewhen.workspace.command import Command, Confinement, End, Finished
from donewhen.workspace.files import write_atomically
from donewhen.workspace.sandbox import environment

if TYPE_CHECKING:
    from donewhen.workspace.process import Launcher

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
"""Where shims look for what they stand for, below the real home: they could not tell by the empty one."""


class Answer(NamedTuple):
    version: str
    """Empty where it runs and says nothing that looks like one."""
    trouble: str
    """Why it does not run; empty when it does."""


@frozen(kw_only=True)
class Question:
    program: str
    words: tuple[str, ...]
    env: Mapping[str, str]
    """The profile's own variables: those that keep an agent from updating itself are among them."""
    package: str = ""
    """What it is installed as."""


class Kept:
    """Answers of the last half minute, in one file. A file that is broken, or from the future, holds none."""

    def __init__(self, file: Path, now: float) -> None:
        self._file = file
        self._now = now
        self._entries = {key: entry for key, entry in _entries(file).items() if self._is_fresh(entry)}

    def get(self, key: str) -> Answer | None:
        entry = self._entries.get(key)
        return Answer(str(entry.get("version", "")), str(entry.get("trouble", ""))) if entry else None

    def add(self, answers: Mapping[str, Answer], now: float) -> None:
        if answers:
            self._entries |= {key: {"at": now, **answer._asdict()} for key, answer in answers.items()}
            with contextlib.suppress(OSError):  # without it, the next one asks again
                write_atomically(self._file, json.dumps(self._entries))

    def _is_fresh(self, entry: dict[str, Any]) -> bool:
        at = entry.get("at")
        return isinstance(at, int | float) and 0 <= self._now - at < KEEP_SECS


def _entries(file: Path) -> dict[str, dict[str, Any]]:
    found = _read(file)
    return {key: cast("dict[str, Any]", entry) for key, entry in found.items() if isinstance(entry, dict)}


def _read(file: Path) -> dict[str, Any]:
    """A JSON object; an empty one where the file is anything else."""
    try:
        content: object = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}


def key(question: Question, outside: Mapping[str, str]) -> str:
    """Other words, another PATH, or a program that was exchanged meanwhile are another question."""
    facts: list[Any] = [__version__, question.words, sorted(_variables(question, outside, "").items())]
    for place in (question.program, os.path.realpath(question.program)):
        seen = os.stat(place)
        facts.append([place, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode])
    return hashlib.sha256(json.dumps(facts).encode("utf-8", "surrogateescape")).hexdigest()


def patience() -> float:
    """How long a program may take to answer: longer on a machine that has more to do than it can."""
    return TIMEOUT_SECS * (OVERLOADED_TIMES if os.getloadavg()[0] > (os.cpu_count() or 1) else 1)


async def ask(launcher: "Launcher", question: Question, outside: Mapping[str, str], timeout_secs: float) -> Answer:
    """Start the program with its words for the version."""
    import tempfile  # not for answers that are kept

    with tempfile.TemporaryDirectory(prefix="donewhen-probe-", ignore_cleanup_errors=True) as home:
        command = Command(
            argv=[question.program, *question.words],
            cwd=home,
            env=_variables(question, outside, home),
            timeout_secs=timeout_secs,
            keep_bytes=KEEP_BYTES,
            confinement=Confinement(private_net=True),
        )
        finished = await launcher.run(command)
        if finished.end is End.COULD_NOT_START:  # perhaps because this machine forbids private networks
            finished = await launcher.run(replace(command, confinement=Confinement()))
    if finished.ok:
        return Answer(_stated(question, finished) or _packaged(question), "")
    return Answer("", _trouble(finished, timeout_secs))


def _variables(question: Question, outside: Mapping[str, str], home: str) -> dict[str, str]:
    real = outside.get("HOME", "")
    roots = {name: f"{real}/{place}" for name, place in ROOTS.items() if real and os.path.isdir(f"{real}/{place}")}
    own = {name: filled(value, {"config": f"{home}/config"}) for name, value in question.env.items()}
    known = {name: value for name, value in own.items() if not PLACEHOLDER.search(value)}
    return {**roots, **environment.scrubbed(outside), "TMPDIR": home, **known, "HOME": home}


def _stated(question: Question, finished: Finished) -> str:
    """Only where it was asked for its version is a number in what it prints likely to be one."""
    if not any("version" in word.lower() for word in question.words):
        return ""
    texts = (output.whole().decode("utf-8", "replace") for output in (finished.stdout, finished.stderr))
    return next((found[0] for text in texts if (found := VERSION.search(text))), "")


def _packaged(question: Question) -> str:
    """The version of the package that a program belongs to, where it keeps silent: npm's and Python's tell theirs."""
    above = list(Path(os.path.realpath(question.program)).parents)[:PACKAGE_DEPTH]
    name = re.sub(r"[-_.]+", "_", question.package).lower()
    for place in above[1:2] if name else ():
        for found in place.glob(f"lib/python3*/site-packages/{name}-*.dist-info"):
            return _version_of(found.name.removesuffix(".dist-info").rpartition("-")[2])
    for place in above:
        if (place / "package.json").is_file():
            return _version_of(_read(place / "package.json").get("version"))
    return ""


def _version_of(text: object) -> str:
    found = VERSION.fullmatch(str(text))
    return found[0] if found else ""


def _trouble(finished: Finished, timeout_secs: float) -> str:
    complaints = (finished.stderr.whole() or finished.stdout.whole()).decode("utf-8", "replace")
    match finished.end:
        case End.TIMED_OUT:
            return f"did not answer within {timeout_secs:g} s"
        case End.EXITED | End.SIGNALLED:
            how = f"signal {finished.signal}" if finished.signal else f"exit {finished.exit_code}"
            return f"ended with {how}{_last_line(complaints)}"
        case _:
            return f"could not be started: {_printable(finished.reason)}"


def _last_line(text: str) -> str:
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    return f": {_printable(lines[-1])}" if lines else ""


def _printable(text: str) -> str:
    shown = "".join(character for character in text if character.isprintable())
    return shown if len(shown) <= LONGEST_LINE else shown[: LONGEST_LINE - 1] + "…"
