"""Reader of RSpec: the report of its JSON formatter, the summary of its other formatters, and the failures.

Failures are examples, and files that could not be loaded.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from donewhen.readers.failures.failure import Failure, FailureReport, Frame
from donewhen.readers.failures.logs import lines as log_lines
from donewhen.readers.failures.traces import blocks, first_words, innermost_first, one_each
from donewhen.readers.json import count, fields, items, parsed, words
from donewhen.readers.printed_lines import first_groups, last, lines
from donewhen.readers.result import RunnerReport, names, tally, that_ran, within

SUMMARY = re.compile(
    r"(\d{1,9}) examples?, (\d{1,9}) failures?(?:, (\d{1,9}) pending)?"
    r"(?:, (\d{1,9}) errors? occurred outside of examples)?"
)
NO_WORDS = re.compile(r"$|example at |is expected ")
FAILED = re.compile(r"rspec \S+ # (.*)")


def read_report(content: bytes) -> RunnerReport | None:
    report = parsed(content)
    if report is None or "examples" not in report or "summary" not in report:
        return None
    examples = [fields(example) for example in items(report["examples"])]
    failures = [words(example.get("full_description")) for example in examples if example.get("status") == "failed"]
    pending = sum(example.get("status") == "pending" for example in examples)
    errors = count(fields(report["summary"]).get("errors_outside_of_examples_count"))
    tests = tally(passed=len(examples) - len(failures) - pending, failed=len(failures) + errors, skipped=pending)
    complete = len(examples) == count(fields(report["summary"]).get("example_count"))
    return RunnerReport("rspec", tests, names(failures), complete, that_ran(_ran(examples)))


def _ran(examples: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """Yield the names of examples that ran.

    A failed example without a description is skipped: RSpec describes it by its last expectation, which changes once it
    passes.
    """
    for example in examples:
        is_described = not NO_WORDS.match(words(example.get("description", "?")))
        if example.get("status") == "passed" or (example.get("status") == "failed" and is_described):
            yield within(words(example.get("file_path")), words(example.get("full_description")))


def read_text(content: bytes) -> RunnerReport | None:
    printed = lines(content)
    found = last(SUMMARY, printed)
    if found is None:
        return None
    at, summary = found
    examples, failures, pending, errors = (int(group or 0) for group in summary.groups())
    tests = tally(passed=examples - failures - pending, failed=failures + errors, skipped=pending)
    return RunnerReport("rspec", tests, names(first_groups(FAILED, printed[at:])) if tests.failed else ())


HEADING = re.compile(
    r" {2}\d{1,6}\) (\S.{0,500})|An error occurred while loading (\S{1,400}?)\."
    r"|(Finished in .*|No examples found\.|Pending:.*)"
)
SHOWN = re.compile(r"\s*Failure/Error: ?(.*)")
KIND = re.compile(r"\s*([A-Z]\w*(?:::\w+){0,8}):")
PLACE = re.compile(r"\s*# (\S.{0,400}?):(\d{1,9})(?::in [`'](.{1,200})')?")
RERUN = re.compile(r"rspec '?(\S+?)(?::\d+|\[[\d:]+\]'?) # (.{1,500})")
CLOSING = re.compile(r"\d{1,9} examples?, \d{1,9} failures?.*")


def read_failures(log: str) -> FailureReport | None:
    printed = log_lines(log)
    files = {row[2]: row[1] for line in printed if (row := RERUN.fullmatch(line))}
    found = list(_failures(printed, files))
    if not found:
        return None
    return FailureReport("rspec", "test" if files else "collect", one_each(found))


def _failures(printed: list[str], files: dict[str, str]) -> Iterator[Failure]:
    """Yield the failures.

    Any program may print a numbered list. A real example shows `Failure/Error`, and its rerun line at the end has the
    file.
    """
    for heading, begin, end in blocks(printed, HEADING):
        body = printed[begin:end]
        if heading[2]:
            yield _failure(heading[2].removeprefix("./"), body)
        elif heading[1] and any(SHOWN.fullmatch(line) for line in body[:3]):
            yield _failure(within(files.get(heading[1], "").removeprefix("./"), heading[1]), body)


def _failure(id: str, body: Sequence[str]) -> Failure:
    at = next((n + 1 for n, line in enumerate(body) if SHOWN.fullmatch(line)), 0)
    text = [line for line in body[at : at + 40] if line.strip() and not PLACE.fullmatch(line)]
    named = next(((n, kind[1]) for n, line in enumerate(text) if (kind := KIND.fullmatch(line))), None)
    kind, message = (named[1], first_words(text[named[0] + 1 :])) if named else ("", " ".join(map(str.strip, text[:2])))
    places = (PLACE.fullmatch(line) for line in body)
    frames = innermost_first(Frame(place[1], int(place[2]), place[3] or "") for place in places if place)
    where = frames[-1] if frames else Frame("")
    return Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
