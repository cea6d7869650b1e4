"""Go's test runner: what `go test -v` prints, and the events of `go test -json`.

Tests and subtests count alike, as go names them. A result counts only for a test that was said to run, and of several
results of one test the worst is kept: what a product prints cannot make a test better. Without `-v` go names no tests,
and then there is nothing to read.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from donewhen.readers.json import fields, words
from donewhen.readers.printed import lines
from donewhen.readers.reading import Reading
from donewhen.readers.tally import names, tally, that_ran

RUN = re.compile(r"(?:.*[^ ])?=== RUN {3}(\S+)")
RESULT = re.compile(r"--- (PASS|FAIL|SKIP): (\S+) \(\d+\.\d+s\)$")
PACKAGE = re.compile(r"(ok {2}|FAIL|\? {3})\t(\S+)(?:\t| )(.*)")
BADNESS = {"": 0, "pass": 1, "skip": 2, "fail": 3}


@dataclass(slots=True)
class _Run:
    """What is known of the tests of all packages so far."""

    outcomes: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    unfinished: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    failed: set[str] = field(default_factory=set[str])
    """Packages of which a test failed."""
    broken: list[str] = field(default_factory=list[str])
    """Packages that failed without a test of theirs: they could not be built, or ended early."""
    called: dict[str, str] = field(default_factory=dict[str, str])
    """Package → its name, where that is heard after its tests."""
    packages: int = 0
    silent: bool = False

    def begin(self, package: str, name: str) -> None:
        if (package, name) not in self.outcomes:
            self.outcomes[package, name] = ""
            self.unfinished.setdefault(package, set()).add(name)

    def result(self, package: str, name: str, outcome: str) -> None:
        if BADNESS[outcome] > BADNESS.get(self.outcomes.get((package, name), "never ran"), 9):
            self.outcomes[package, name] = outcome
            self.unfinished[package].discard(name)
            if outcome == "fail":
                self.failed.add(package)

    def settle(self, package: str, outcome: str) -> None:
        """A package has ended: a test whose own result was not heard went the way of its package."""
        for name in list(self.unfinished.get(package, ())):
            self.result(package, name, outcome)

    def reading(self, complete: bool) -> Reading:
        ends = list(self.outcomes.values())
        failures = [name for (_, name), outcome in self.outcomes.items() if outcome == "fail"]
        failed = len(failures) + len(self.broken)
        tests = tally(passed=ends.count("pass"), failed=failed, skipped=ends.count("skip"))
        return Reading("go", tests, names(failures + self.broken), complete, that_ran(self._ran()))

    def _ran(self) -> Iterator[str]:
        for (package, name), outcome in self.outcomes.items():
            if outcome in ("pass", "fail"):
                yield f"{self.called.get(package, package)}.{name}"


def read_text(content: bytes) -> Reading | None:
    """What go printed, in whichever of its two forms."""
    return read_events(content) or read_verbose(content)


def read_verbose(content: bytes) -> Reading | None:
    """Go says once how a package went, after all of its tests: an earlier line of that kind is the product's talk."""
    run, current, home = _Run(), "", dict[str, str]()
    printed = lines(content)
    closing = {package[2]: at for at, line in enumerate(printed) if (package := PACKAGE.fullmatch(line))}
    for at, line in enumerate(printed):
        if begun := RUN.fullmatch(line):
            run.begin(current, begun[1])
            home[begun[1]] = current
        elif result := RESULT.search(line[-600:]):
            run.result(home.get(result[2], current), result[2], result[1].lower())
        elif package := PACKAGE.fullmatch(line):
            is_talk = closing[package[2]] != at or (package[1] == "ok  " and run.unfinished.get(current))
            if not is_talk:
                _close(run, current, package)
                current = str(run.packages)
    if run.silent or not (run.packages or run.outcomes):
        return None
    return run.reading(complete=not run.unfinished.get(current))


def _close(run: _Run, current: str, package: re.Match[str]) -> None:
    run.packages += 1
    run.called[current] = package[2]
    if package[1] == "FAIL":
        run.settle(current, "fail")
        if current not in run.failed:
            run.broken.append(package[2])
    elif current not in run.unfinished and "[no test" not in package[3]:
        run.silent = True


def read_events(content: bytes) -> Reading | None:
    run, ended = _Run(), set[str]()
    for line in lines(content):
        event = _event(line)
        package, test, action = (words(event.get(key)) for key in ("Package", "Test", "Action"))
        if action == "run" and test:
            run.begin(package, test)
        elif test and action in BADNESS:
            run.result(package, test, action)
        elif package and action in ("pass", "fail", "skip"):
            ended.add(package)
            run.settle(package, action)
            if action == "fail" and package not in run.failed:
                run.broken.append(package)
    if not ended and not run.outcomes:
        return None
    return run.reading(complete={package for package, _ in run.outcomes} <= ended)


def _event(line: str) -> dict[str, object]:
    if not line.startswith("{"):
        return {}
    try:
        return fields(json.loads(line))
    except (ValueError, RecursionError):
        return {}
