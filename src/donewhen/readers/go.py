"""Reader of Go's test runner: the output of `go test`, with and without `-v`, and the events of `go test -json`.

Counts: tests and subtests count alike, as go names them. A result counts only for a test that was reported as running.
If a test has several results, the worst one is kept: output of the tested program cannot improve a test's result.
Without `-v` go names no tests, and there is nothing to count.

Failures: a test that failed only because of its subtests is left out. Numbers in the name of a subtest are mostly
parameters and are replaced. A package that could not be built is named only beside failing tests: the compiler's reader
reports the reason.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from donewhen.readers.failures.failure import Failure, FailureReport, Frame, Phase
from donewhen.readers.failures.logs import lines as log_lines
from donewhen.readers.failures.traces import first_words, innermost_first, one_each
from donewhen.readers.json import fields, words
from donewhen.readers.printed_lines import lines
from donewhen.readers.result import RunnerReport, names, tally, that_ran, within

RUN = re.compile(r"(?:.*[^ ])?=== RUN {3}(\S+)")
RESULT = re.compile(r"--- (PASS|FAIL|SKIP): (\S+) \(\d+\.\d+s\)$")
PACKAGE = re.compile(r"(ok {2}|FAIL|\? {3})\t(\S+)(?:\t| )(.*)")
BADNESS = {"": 0, "pass": 1, "skip": 2, "fail": 3}


@dataclass(slots=True)
class _Run:
    """The test results of all packages so far."""

    outcomes: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    unfinished: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    failed: set[str] = field(default_factory=set[str])
    """Packages in which a test failed."""
    broken: list[str] = field(default_factory=list[str])
    """Packages that failed without a failed test: they could not be built, or ended early."""
    called: dict[str, str] = field(default_factory=dict[str, str])
    """Package → its name, where that is printed after its tests."""
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
        """Close a package: a test without its own result gets the result of its package."""
        for name in list(self.unfinished.get(package, ())):
            self.result(package, name, outcome)

    def reading(self, complete: bool) -> RunnerReport:
        ends = list(self.outcomes.values())
        failures = [name for (_, name), outcome in self.outcomes.items() if outcome == "fail"]
        failed = len(failures) + len(self.broken)
        tests = tally(passed=ends.count("pass"), failed=failed, skipped=ends.count("skip"))
        return RunnerReport(
            "go", tests, names(failures + self.broken), complete, self._named("pass", "fail"), self._named("skip")
        )

    def _named(self, *wanted: str) -> tuple[str, ...]:
        found = ((package, name) for (package, name), outcome in self.outcomes.items() if outcome in wanted)
        return that_ran(f"{self.called.get(package, package)}.{name}" for package, name in found)


def read_text(content: bytes) -> RunnerReport | None:
    """Read the output of go in either of its two forms."""
    return read_events(content) or read_verbose(content)


def read_verbose(content: bytes) -> RunnerReport | None:
    """Read verbose output.

    Go prints one result line per package, after all of its tests. An earlier line of that kind is program output.
    """
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


def read_events(content: bytes) -> RunnerReport | None:
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


NAMED = re.compile(r"(?:.*[^ ])? *(--- (?:FAIL|PASS|SKIP): |=== (?:RUN|CONT|NAME) +)(\S{1,500})(?: \(\d+\.\d+s\))?")
PACKAGE_LINE = re.compile(r"(ok {2}|FAIL|\? {3})\t(\S{1,400})(?:\t| )(.*)")
LOGGED = re.compile(r" +(\w[\w.-]{0,200}\.go):(\d{1,9}): ?(.*)")
PANIC = re.compile(r"(?:panic: |fatal error: )(.{0,600}?)(?: \[recovered\].*)?", re.DOTALL)
CALL = re.compile(r"([^\s(]{1,400}(?:\(\*\w{1,100}\)[^\s(]{0,200})?)\(")
PLACE = re.compile(r"\t(\S.{0,400}?\.(?:go|s)):(\d{1,9})(?: \+0x[0-9a-f]{1,16})?")
ASSERTED = re.compile(r"\s+Error:\s+(\S.*)")
NUMBERS = re.compile(r"\d+")
OUT_OF_TIME = re.compile(r"panic: test timed out after .*")
CLOSING = re.compile(r'FAIL(?:\t.*)?|\{"Time":(?=.*"Action":"fail").*\}')


def read_failures(log: str) -> FailureReport | None:
    printed = _plain(log_lines(log))
    found = list(_failures(printed))
    if not found:
        return None
    phase: Phase = "timeout" if any(OUT_OF_TIME.fullmatch(line) for line in printed) else "test"
    return FailureReport("go test", phase, one_each(_without_parents(found)))


def _plain(printed: list[str]) -> list[str]:
    """Return the output inside events, package by package, because packages are tested in parallel."""
    if not any(line.startswith('{"') and '"Action":' in line for line in printed):
        return printed
    by_package = dict[str, list[str]]()
    for line in printed:
        if line.startswith('{"') and '"Output"' in line:
            event = _failure_event(line)
            by_package.setdefault(words(event.get("Package")), []).append(words(event.get("Output")))
    return [line.rstrip() for outputs in by_package.values() for line in "".join(outputs).split("\n")]


def _failure_event(line: str) -> dict[str, object]:
    try:
        return dict(fields(json.loads(line)))
    except (ValueError, RecursionError):
        return {}


def _failures(printed: list[str]) -> Iterator[Failure]:
    """Yield the failures of every package. The package is named after its tests."""
    begun = 0
    for at, line in enumerate(printed):
        if package := PACKAGE_LINE.fullmatch(line):
            if package[1] == "FAIL":
                yield from _of_package(package[2], printed[begun:at])
            begun = at + 1
    yield from _of_package("", printed[begun:])


def _of_package(package: str, printed: Sequence[str]) -> Iterator[Failure]:
    """Yield the failures of a package.

    Output belongs to the test named last. With `-v` go names the running test, without it the failed one.
    """
    logged, failed, name = dict[str, list[str]](), dict[str, None](), ""
    for line in printed:
        if named := NAMED.fullmatch(line):
            name = named[2]
            if named[1] == "--- FAIL: ":
                failed[name] = None
        else:
            logged.setdefault(name, []).append(line)
    for name in failed:
        yield _failure(_id(package, name), logged.get(name, []))
    if not failed and any(PANIC.fullmatch(line) for line in printed):
        yield _failure(_id(package, name), logged.get(name, []))


def _id(package: str, name: str) -> str:
    test, of, subtest = name.partition("/")
    return within(package, test + of + NUMBERS.sub("N", subtest))


def _failure(id: str, body: Sequence[str]) -> Failure:
    if panic := next((found for line in body if (found := PANIC.fullmatch(line))), None):
        places = ((CALL.match(call), PLACE.fullmatch(place)) for call, place in pairwise(body))
        frames = innermost_first(Frame(at[1], int(at[2]), call[1]) for call, at in places if call and at)
        where = frames[-1] if frames else Frame("")
        return Failure(id=id, kind="panic", message=panic[1], file=where.file, line=where.line, frames=frames)
    logged = next((found for line in body if (found := LOGGED.fullmatch(line))), None)
    if logged is None:
        return Failure(id=id)
    message = logged[3] or next((found[1] for line in body if (found := ASSERTED.fullmatch(line))), first_words(body))
    test = id.rpartition(" > ")[2].partition("/")[0]
    frame = Frame(logged[1], int(logged[2]), test)
    return Failure(id=id, message=message, file=logged[1], line=int(logged[2]), frames=(frame,))


def _without_parents(found: list[Failure]) -> list[Failure]:
    """Drop tests without a message that have a failed subtest: they failed because of it."""
    ids = {each.id for each in found}
    above = (each.id[:at] for each in found for at, letter in enumerate(each.id) if letter == "/")
    parents = {id for id in above if id in ids}
    return [each for each in found if each.message or each.id not in parents]
