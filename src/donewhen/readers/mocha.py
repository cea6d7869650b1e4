"""Reader of mocha: the report of its json reporter, the summary of its usual reporters, and the failures.

Failures come from the numbered list after the counts, or from the exception that kept mocha from running.
"""

import re
from collections.abc import Iterator

from donewhen.readers.failures.failure import Failure, FailureReport, Frame, Phase
from donewhen.readers.failures.logs import lines as log_lines
from donewhen.readers.failures.places import portable, top_of_project
from donewhen.readers.failures.traces import blocks, kind_and_message, one_each, script_frames, whole_message
from donewhen.readers.json import count, fields, items, parsed, words
from donewhen.readers.printed_lines import first_groups, last, lines
from donewhen.readers.result import RunnerReport, Tests, names, tally, that_ran, within

PASSING = re.compile(r" {2}(\d{1,9}) passing(?: \(.*\))?")
OTHERS = re.compile(r" {2}(\d{1,9}) (pending|failing)")
NOTHING = re.compile(r"Error: No test files found.*")
FAILED = re.compile(r" {2}\d{1,9}\) (.*)")
TICKED = re.compile(r" +[✔✓√] (.+?)(?: \(\d+ms\)|: \d+ms)?")
NUMBERED = re.compile(r" +\d{1,9}\) (.+)")
HOOK = re.compile(r'"(?:before|after) (?:each|all)" hook')


def read_report(content: bytes) -> RunnerReport | None:
    report = parsed(content)
    if report is None or "stats" not in report:
        return None
    stats = fields(report["stats"])
    tests = tally(
        passed=count(stats.get("passes")), failed=count(stats.get("failures")), skipped=count(stats.get("pending"))
    )
    failures = [words(fields(test).get("fullTitle")) for test in items(report.get("failures"))]
    went = [fields(test) for key in ("passes", "failures") for test in items(report.get(key))]
    ran = [within(words(test.get("file")), words(test.get("fullTitle"))) for test in went]
    pending = map(fields, items(report.get("pending")))
    skipped = that_ran(within(words(test.get("file")), words(test.get("fullTitle"))) for test in pending)
    return RunnerReport("mocha", tests, names(failures), "end" in stats, that_ran(_without_hooks(ran)), skipped)


def read_text(content: bytes) -> RunnerReport | None:
    printed = lines(content)
    found = last(PASSING, printed)
    if found is None:
        return RunnerReport("mocha", Tests()) if last(NOTHING, printed) else None
    at, passing = found
    others = {other[2]: int(other[1]) for line in printed[at + 1 : at + 3] if (other := OTHERS.fullmatch(line))}
    tests = tally(passed=int(passing[1]), failed=others.get("failing", 0), skipped=others.get("pending", 0))
    failures = names(_failures(printed[at + 1 :])) if tests.failed else ()
    return RunnerReport("mocha", tests, failures, ran=_ran(printed[:at], tests))


def _ran(printed: list[str], tests: Tests) -> tuple[str, ...]:
    """Return the titles if there are as many as were counted.

    Their suites are left out: they cannot be told apart from output of the tested program.
    """
    passed, failed = first_groups(TICKED, printed), first_groups(NUMBERED, printed)
    is_complete = (len(passed), len(failed)) == (tests.passed, tests.failed)
    return that_ran(_without_hooks(passed + failed)) if is_complete else ()


def _without_hooks(titles: list[str]) -> list[str]:
    return [title for title in titles if not HOOK.search(title)]


def _failures(printed: list[str]) -> list[str]:
    """Return the names of the failures.

    A name has several lines, one for each suite around the test, and ends with a colon.
    """
    found = list[str]()
    for at, line in enumerate(printed):
        if not (begun := FAILED.fullmatch(line)):
            continue
        parts = [begun[1]]
        while not parts[-1].endswith(":") and at + len(parts) < len(printed) and len(parts) < 20:
            parts.append(printed[at + len(parts)].strip())
        found.append(" ".join(part for part in parts if part).removesuffix(":"))
    return found


BROKEN = re.compile(r"\s*(?:Exception during run: |✖ ERROR: )(.+)")
MOST_SUITES = 20
CLOSING = re.compile(r" {2}\d{1,9} failing")


def read_failures(log: str) -> FailureReport | None:
    printed = log_lines(log)
    if failing := last(CLOSING, printed):
        found = list(_each_failure(printed[failing[0] + 1 :]))
        phase: Phase = "setup" if all(HOOK.search(each.id) for each in found) else "test"
        return FailureReport("mocha", phase, one_each(found)) if found else None
    if broken := last(BROKEN, printed):
        at, text = broken
        body = printed[at : at + 100]
        own = top_of_project(script_frames(body))
        return FailureReport("mocha", "collect", (_failure(portable(own.file) if own else "mocha", text[1], body),))
    return None


def _each_failure(printed: list[str]) -> Iterator[Failure]:
    """Yield the failures.

    A name has several lines, one for each suite around the test, and ends with a colon.
    """
    for heading, begin, end in blocks(printed, FAILED):
        parts = [heading[1]]
        while not parts[-1].endswith(":") and len(parts) < MOST_SUITES and begin < end:
            parts.append(printed[begin].strip())
            begin += 1
        whole = " > ".join(part for part in parts if part).removesuffix(":")
        title, _, test = whole.partition(' for "')
        title = title if test.endswith('"') else whole
        yield _failure(title, whole_message(printed[begin:end]), printed[begin:end])


def _failure(title: str, text: str, body: list[str]) -> Failure:
    kind, message = kind_and_message(text)
    frames = script_frames(body)
    where = frames[-1] if frames else Frame("")
    return Failure(id=title, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
