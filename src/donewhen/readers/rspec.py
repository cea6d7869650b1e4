"""RSpec: the report of its JSON formatter, and the summary that its other formatters print."""

import re
from collections.abc import Iterable, Iterator, Mapping

from donewhen.readers.json import count, fields, items, parsed, words
from donewhen.readers.printed import heard, last, lines
from donewhen.readers.reading import Reading
from donewhen.readers.tally import names, tally, that_ran, within

SUMMARY = re.compile(
    r"(\d{1,9}) examples?, (\d{1,9}) failures?(?:, (\d{1,9}) pending)?"
    r"(?:, (\d{1,9}) errors? occurred outside of examples)?"
)
NO_WORDS = re.compile(r"$|example at |is expected ")
FAILED = re.compile(r"rspec \S+ # (.*)")


def read_report(content: bytes) -> Reading | None:
    report = parsed(content)
    if report is None or "examples" not in report or "summary" not in report:
        return None
    examples = [fields(example) for example in items(report["examples"])]
    failures = [words(example.get("full_description")) for example in examples if example.get("status") == "failed"]
    pending = sum(example.get("status") == "pending" for example in examples)
    errors = count(fields(report["summary"]).get("errors_outside_of_examples_count"))
    tests = tally(passed=len(examples) - len(failures) - pending, failed=len(failures) + errors, skipped=pending)
    complete = len(examples) == count(fields(report["summary"]).get("example_count"))
    return Reading("rspec", tests, names(failures), complete, that_ran(_ran(examples)))


def _ran(examples: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """An example without words is described by what it expected last, and that changes when it no longer fails."""
    for example in examples:
        is_described = not NO_WORDS.match(words(example.get("description", "?")))
        if example.get("status") == "passed" or (example.get("status") == "failed" and is_described):
            yield within(words(example.get("file_path")), words(example.get("full_description")))


def read_text(content: bytes) -> Reading | None:
    printed = lines(content)
    found = last(SUMMARY, printed)
    if found is None:
        return None
    at, summary = found
    examples, failures, pending, errors = (int(group or 0) for group in summary.groups())
    tests = tally(passed=examples - failures - pending, failed=failures + errors, skipped=pending)
    return Reading("rspec", tests, names(heard(FAILED, printed[at:])) if tests.failed else ())
