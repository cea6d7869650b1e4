"""Reader of pytest's output: the counts at its end and the failures. Its XML report is read by `junit`.

Failures come from the section of every failure and from the short summary. The summary tells where a test is, the
section why it failed. Either may be missing (`--tb=no`, `-rN`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from donewhen.readers.failures.failure import Failure, FailureReport, Frame, Phase
from donewhen.readers.failures.logs import lines as log_lines
from donewhen.readers.failures.traces import error, kind_and_message, last_ones, one_each, python_frames
from donewhen.readers.printed_lines import first_groups, last, lines, worded
from donewhen.readers.result import RunnerReport, names, tally

SUMMARY = re.compile(
    r"(?:=+ )?"
    r"(no tests ran|no tests collected[^=]{0,80}|\d{1,9} [a-z]+(?: [a-z]+)?(?:, \d{1,9} [a-z]+(?: [a-z]+)?){0,12})"
    r" in \d+\.\d+ ?s(?:econds)?(?: \(\d+(?: days?, \d+)?:\d\d:\d\d\))?(?: =+)?"
)
HEADER = re.compile(r"=+ short test summary info =+")
FAILED = re.compile(r"(?:FAILED|ERROR|SUBFAILED\S*) (\S.*?)(?: - .*)?", re.DOTALL)


def read_text(content: bytes) -> RunnerReport | None:
    printed = lines(content)
    found = last(SUMMARY, printed)
    if found is None:
        return None
    at, summary = found
    counts = worded(summary[1])
    tests = tally(
        passed=counts.get("passed", 0) + counts.get("xpassed", 0),
        failed=sum(counts.get(word, 0) for word in ("failed", "error", "errors")),
        skipped=counts.get("skipped", 0) + counts.get("xfailed", 0),
    )
    header = last(HEADER, printed[:at])
    return RunnerReport("pytest", tests, names(first_groups(FAILED, printed[header[0] + 1 : at])) if header else ())


SECTION = re.compile(r"=+ (?:FAILURES|ERRORS) =+")
TITLE = re.compile(r"_{3,} (\S.{0,400}?) _{3,}|={3,} .{1,200} ={3,}|!{3,} .{1,200} !{3,}")
LISTED = re.compile(r"(FAILED|ERROR|SUBFAILED\S{0,100}) ([^\s:]+\.py(?:::.*?)?|\S+?)(?: - (.*))?", re.DOTALL)
CONFTEST = re.compile(r"ImportError while loading conftest '(.{1,400})'\.")
OUTPUT = re.compile(r"-+ Captured .* -+")
PLACE = re.compile(r"(\S.{0,400}?):(\d{1,9}): ?(?:in (.{1,200})|([\w.]{1,200}))?")
DEFINED = re.compile(r"[> ] +(?:async )?def (\w{1,200})\(.*")
BETWEEN = re.compile(r"(?:_ ){10,}_? ?")
ERRORS_IN = re.compile(r"ERROR (collecting|at setup of|at teardown of) (.*)")
TRACE = "Traceback (most recent call last):"
PARAMETERS = re.compile(r"\[.*")
CLOSING = re.compile(r"(?:=+ )?\d{1,9} \w.* in \d+\.\d+ ?s(?:econds)?(?: \(.{1,40}\))?(?: =+)?")


def read_failures(log: str) -> FailureReport | None:
    printed = log_lines(log)
    header = last(HEADER, printed)
    sections = [at for at, line in enumerate(printed) if SECTION.fullmatch(line)]
    listed = list(_listed(printed[header[0] + 1 :])) if header else []
    details = list(_details(printed[sections[0] + 1 :])) if sections else []
    found = list(_joined(listed, details)) or list(_conftest(printed))
    return FailureReport("pytest", _phase(found), one_each(failure for _, failure in found)) if found else None


def _phase(found: list[tuple[str, Failure]]) -> Phase:
    steps = {step for step, _ in found}
    if "" in steps:
        return "test"
    return "collect" if "collecting" in steps else "setup"


def _listed(printed: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield word, node id and message of each line of the short summary."""
    for line in printed:
        if row := LISTED.fullmatch(line):
            yield row[1], row[2], row[3] or ""


def _details(printed: Sequence[str]) -> Iterator[tuple[str, str, Failure]]:
    """Yield step, name and failure of every section. The id is a guess until it is matched with the short summary."""
    heads = [(at, title[1]) for at, line in enumerate(printed) if (title := TITLE.fullmatch(line))]
    for (at, title), (end, _) in zip(heads, [*heads, (len(printed), "")][1:], strict=True):
        if title:
            step, name = found.groups() if (found := ERRORS_IN.fullmatch(title)) else ("", title)
            yield step, name, _failure(name, printed[at + 1 : end])


def _failure(name: str, body: Sequence[str]) -> Failure:
    output = next((at for at, line in enumerate(body) if OUTPUT.fullmatch(line)), len(body))
    body = body[:output]
    frames, named = _frames(body)
    explanation = _explanation([line[1:].strip() for line in body if line.startswith("E   ")])
    if not explanation and (native := python_frames(body)):
        frames, explanation = native, next((line for line in reversed(body) if error(line)), "")
    kind, message = kind_and_message(explanation, named or "AssertionError")
    if named and kind != named and not kind.endswith(f".{named}"):
        kind, message = named, explanation
    file = frames[0].file if frames else ""
    where = frames[-1] if frames else Frame("")
    return Failure(id=_node(file, name), kind=kind, message=message, file=where.file, line=where.line, frames=frames)


def _explanation(explained: Sequence[str]) -> str:
    """Return the first line with what distinguishes it: where two lists differ, or the end of an inner trace."""
    first = next(iter(explained), "")
    if first.endswith(TRACE):
        ends = (line for line in explained[1:] if (found := error(line)) and found[0].endswith(("Error", "Exception")))
        return f"{first} {next(ends, '')}".strip()
    return " ".join([first, *(line for line in explained[1:8] if line.startswith("At index "))])


def _frames(body: Sequence[str]) -> tuple[tuple[Frame, ...], str]:
    """Return the places that a section names, and the exception kind printed after the last one."""
    found, kind, function = list[Frame](), "", ""
    for line in body:
        if BETWEEN.fullmatch(line):
            function = ""
        elif defined := DEFINED.fullmatch(line):
            function = defined[1]
        elif place := PLACE.fullmatch(line):
            found.append(Frame(place[1], int(place[2]), place[3] or function))
            kind = place[4] or ""
    return last_ones(found), kind.rpartition(".")[2]


def _node(file: str, name: str) -> str:
    plain = PARAMETERS.sub("", name)
    return plain if plain.endswith(".py") or not file else f"{file}::{plain.replace('.', '::')}"


def _joined(
    listed: list[tuple[str, str, str]], details: list[tuple[str, str, Failure]]
) -> Iterator[tuple[str, Failure]]:
    """Yield every listed failure with its section, then the sections that are not listed."""
    by_name = {name: (step, failure) for step, name, failure in details}
    for word, node, message in listed:
        name = node.partition("::")[2].replace("::", ".") or node
        step, failure = by_name.pop(name, ("" if word != "ERROR" else "at setup of", None))
        node = PARAMETERS.sub("", node)
        if failure is None:
            kind, message = kind_and_message(message.removesuffix("..."))
            yield step, Failure(id=node, kind=kind, message=message, file=node.partition("::")[0])
        else:
            yield step, replace(failure, id=node)
    yield from by_name.values()


def _conftest(printed: Sequence[str]) -> Iterator[tuple[str, Failure]]:
    """Yield the failure of a conftest that cannot be imported: it ends pytest before any section is printed."""
    if found := last(CONFTEST, list(printed)):
        failure = _failure("conftest.py", printed[found[0] + 1 : found[0] + 200])
        yield "at setup of", failure
