"""Mocha: the report of its json reporter, and the summary that its usual reporters print."""

import re

from donewhen.readers.json import count, fields, items, parsed, words
from donewhen.readers.printed import heard, last, lines
from donewhen.readers.reading import Reading, Tests
from donewhen.readers.tally import names, tally, that_ran, within

PASSING = re.compile(r" {2}(\d{1,9}) passing(?: \(.*\))?")
OTHERS = re.compile(r" {2}(\d{1,9}) (pending|failing)")
NOTHING = re.compile(r"Error: No test files found.*")
FAILED = re.compile(r" {2}\d{1,9}\) (.*)")
TICKED = re.compile(r" +[✔✓√] (.+?)(?: \(\d+ms\)|: \d+ms)?")
NUMBERED = re.compile(r" +\d{1,9}\) (.+)")
HOOK = re.compile(r'"(?:before|after) (?:each|all)" hook')


def read_report(content: bytes) -> Reading | None:
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
    return Reading("mocha", tests, names(failures), "end" in stats, that_ran(_without_hooks(ran)))


def read_text(content: bytes) -> Reading | None:
    printed = lines(content)
    found = last(PASSING, printed)
    if found is None:
        return Reading("mocha", Tests()) if last(NOTHING, printed) else None
    at, passing = found
    others = {other[2]: int(other[1]) for line in printed[at + 1 : at + 3] if (other := OTHERS.fullmatch(line))}
    tests = tally(passed=int(passing[1]), failed=others.get("failing", 0), skipped=others.get("pending", 0))
    failures = names(_failures(printed[at + 1 :])) if tests.failed else ()
    return Reading("mocha", tests, failures, ran=_ran(printed[:at], tests))


def _ran(printed: list[str], tests: Tests) -> tuple[str, ...]:
    """Titles alone: which suite they are in cannot be told from what a product prints. As many as were counted."""
    passed, failed = heard(TICKED, printed), heard(NUMBERED, printed)
    told = (len(passed), len(failed)) == (tests.passed, tests.failed)
    return that_ran(_without_hooks(passed + failed)) if told else ()


def _without_hooks(titles: list[str]) -> list[str]:
    return [title for title in titles if not HOOK.search(title)]


def _failures(printed: list[str]) -> list[str]:
    """A name goes over several lines, one for each suite around the test, and ends with a colon."""
    found = list[str]()
    for at, line in enumerate(printed):
        if not (begun := FAILED.fullmatch(line)):
            continue
        parts = [begun[1]]
        while not parts[-1].endswith(":") and at + len(parts) < len(printed) and len(parts) < 20:
            parts.append(printed[at + len(parts)].strip())
        found.append(" ".join(part for part in parts if part).removesuffix(":"))
    return found
