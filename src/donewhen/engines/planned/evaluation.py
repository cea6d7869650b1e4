"""An evaluator's opinion as data, and the rules that decide whether it is a pass.

No I/O. An incomplete reply is not an opinion: it is malformed and is asked for again. It never counts as a pass or as a
fail. An opinion can stop a landing; it cannot turn a red contract green.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, cast

from donewhen.engines.planned.reply_reader import ReplyReader, is_whole_number
from donewhen.engines.typed_reply import cleaned, cut, describe_value, one_line, only_object_in
from donewhen.records import Stored

SCORES = ("contract_fidelity", "functionality", "code_quality", "verification_integrity")
LEAST_TO_PASS, LOWEST, HIGHEST = 4, 1, 5
MOST_ENTRIES = 100
MOST_COUNTED = 1000
LONGEST_TEXT = 4000
LONGEST_LINE = 1000
DEEPEST = 4
WANTED = 'one JSON object with "verdict", "summary", "scorecard" and the rest of the form'


class Finding(Stored):
    severity: Literal["high", "medium", "low"]
    title: str
    detail: str = ""
    command: str = ""
    """A command that shows the finding when it is run; may be empty."""


class Evaluation(Stored):
    """An opinion, stored under the keys of a reply."""

    KEYS = MappingProxyType(
        {
            "unmet": "unmet_contract_items",
            "risks": "residual_risks",
            "tracker_updates": "required_tracker_updates",
        }
    )
    verdict: Literal["pass", "fail"]
    summary: str
    high_severity_findings: int
    scorecard: Mapping[str, float]
    findings: tuple[Finding, ...]
    unmet: tuple[str, ...]
    risks: tuple[str, ...] = ()
    tracker_updates: tuple[str, ...] = ()

    def failed_rules(self) -> tuple[str, ...]:
        """Return a line for every rule that prevents a pass."""
        return tuple(self._failed_rules())

    def _failed_rules(self) -> Iterator[str]:
        if self.verdict != "pass":
            yield f"verdict is {self.verdict}"
        for name in SCORES:
            if not (score := self.scorecard[name]) >= LEAST_TO_PASS:
                yield f"{name} is {score:g}, needs {LEAST_TO_PASS}"
        counted, listed = self.high_severity_findings, sum(one.severity == "high" for one in self.findings)
        if worst := max(counted, listed):
            yield f"{worst} high-severity finding{'s' if worst > 1 else ''}"
        if counted != listed:
            yield f"the count of high-severity findings ({counted}) and the list ({listed}) disagree"
        yield from (f"unmet: {one}" for one in self.unmet)

    @property
    def passed(self) -> bool:
        return not self.failed_rules()

    def explained_summary(self) -> str:
        """Return the summary, followed by every failed rule."""
        rules = self.failed_rules()
        return f"{self.summary} (not passed: {'; '.join(rules)})" if rules else self.summary

    @property
    def probes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(finding.command for finding in self.findings if finding.command))

    def rendered(self, number: int) -> str:
        """Return the evaluation file for people, in Markdown."""
        rows = [f"| {name} | {self.scorecard[name]:g} |" for name in SCORES]
        parts = [
            [f"# Evaluation {number}: {'passed' if self.passed else 'not passed'}"],
            [f"Verdict of the evaluator: {self.verdict}"],
            [self.summary],
            [f"| score | {LOWEST} to {HIGHEST}, needs {LEAST_TO_PASS} |", "|---|---|", *rows],
            _section("Why it is not passed", self.failed_rules()),
            _section("Findings", [line for finding in self.findings for line in _lines_of(finding)]),
            _section("Unmet", self.unmet),
            _section("Risks that remain", self.risks),
            _section("Required updates of the tracker", self.tracker_updates),
        ]
        return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title}", "", *(line if line.startswith("  ") else f"- {line}" for line in lines)] if lines else []


def _lines_of(finding: Finding) -> Iterator[str]:
    yield f"{finding.severity}: {finding.title}"
    yield from (f"  {line}" for line in finding.detail.split("\n") if line.strip())
    if finding.command:
        yield f"  probe: `{one_line(finding.command)}`"


def evaluation_in(reply: str) -> Evaluation:
    """Return the evaluation in a reply. Raise `InvalidReply` with every reason why it is invalid."""
    return _EvaluationReader().evaluation(only_object_in(reply, ["verdict", "scorecard"], WANTED))


class _EvaluationReader(ReplyReader):
    def evaluation(self, value: Mapping[str, Any]) -> Evaluation:
        verdict, summary = self._verdict(value.get("verdict")), self.required(value.get("summary"), "summary")
        count, scorecard = self._count(value.get("high_severity_findings")), self._scorecard(value.get("scorecard"))
        findings = self._required_list(value.get("findings"), "findings")
        read = tuple(self._finding(entry, f"findings[{number}]") for number, entry in enumerate(findings))
        unmet = self._unmet(value.get("unmet_contract_items"))
        risks = self._lines(value.get("residual_risks"), "residual_risks")
        updates = self._lines(value.get("required_tracker_updates"), "required_tracker_updates")
        self.require_no_issues()
        return Evaluation(
            verdict=verdict,
            summary=cut(summary, LONGEST_TEXT),
            high_severity_findings=count,
            scorecard=scorecard,
            findings=read,
            unmet=unmet,
            risks=risks,
            tracker_updates=updates,
        )

    def _verdict(self, value: object) -> Literal["pass", "fail"]:
        text = value.strip().lower() if isinstance(value, str) else ""
        if text not in ("pass", "fail"):
            self.issues.append(f"verdict must be 'pass' or 'fail', not {describe_value(value)}")
        return "pass" if text == "pass" else "fail"

    def _count(self, value: object) -> int:
        if is_whole_number(value) and 0 <= value <= MOST_COUNTED:
            return int(value)
        self.issues.append(f"high_severity_findings must be a whole number from 0 to {MOST_COUNTED}")
        return 0

    def _scorecard(self, value: object) -> Mapping[str, float]:
        if not isinstance(value, dict):
            self.issues.append(f"scorecard must be an object with {', '.join(SCORES)}, not {describe_value(value)}")
            return {}
        entries = cast("Mapping[str, object]", value)
        return {name: self._score(entries.get(name), f"scorecard.{name}") for name in SCORES}

    def _score(self, value: object, path: str) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool) and LOWEST <= value <= HIGHEST:
            return value
        self.issues.append(f"{path} must be a number from {LOWEST} to {HIGHEST}")
        return LOWEST

    def _required_list(self, value: object, path: str) -> list[object]:
        if value is None:
            self.issues.append(f"{path} must be a list; an empty one when there is nothing to say")
        return self.entries(value, path, "a list", MOST_ENTRIES)

    def _finding(self, value: object, path: str) -> Finding:
        if not isinstance(value, dict):
            self.issues.append(f"{path} must be an object, not {describe_value(value)}")
            return Finding("high", "")
        entry = cast("Mapping[str, object]", value)
        title = one_line(self.required(entry.get("title"), f"{path}.title"))
        command = self.command(entry.get("command"), f"{path}.command")
        probe = self.command(entry.get("probe"), f"{path}.probe")
        detail = cleaned(_as_text(entry.get("detail"), DEEPEST)).strip()
        severity = self._severity(entry.get("severity"), f"{path}.severity")
        return Finding(severity, cut(title, LONGEST_LINE), cut(detail, LONGEST_TEXT), command or probe)

    def _severity(self, value: object, path: str) -> Literal["high", "medium", "low"]:
        text = value.strip().lower() if isinstance(value, str) else ""
        for severity in ("high", "medium", "low"):
            if text == severity:
                return severity
        self.issues.append(f"{path} must be 'high', 'medium' or 'low', not {describe_value(value)}")
        return "high"

    def _unmet(self, value: object) -> tuple[str, ...]:
        """Return the unmet items. An unmet item stops a landing, so an entry that cannot be read is an issue and is not
        skipped."""
        entries = self._required_list(value, "unmet_contract_items")
        lines = [_line(entry) for entry in entries]
        for number, (entry, line) in enumerate(zip(entries, lines, strict=True)):
            if not line and not isinstance(entry, str | None):
                self.issues.append(f"unmet_contract_items[{number}] must be text, not {describe_value(entry)}")
        return tuple(dict.fromkeys(line for line in lines if line))

    def _lines(self, value: object, path: str) -> tuple[str, ...]:
        lines = map(_line, self.entries(value, path, "a list", MOST_ENTRIES))
        return tuple(dict.fromkeys(line for line in lines if line))


def _line(value: object) -> str:
    return cut(one_line(_as_text(value, DEEPEST)), LONGEST_LINE)


def _as_text(value: object, depth: int) -> str:
    """Return text for a value that should be a sentence but may be an object or a list."""
    if isinstance(value, str):
        return value
    if value is None or depth == 0:
        return ""
    if isinstance(value, list):
        return ", ".join(line for one in cast("list[object]", value) if (line := _as_text(one, depth - 1)))
    if isinstance(value, dict):
        pairs = ((key, _as_text(one, depth - 1)) for key, one in cast("dict[str, object]", value).items())
        return "; ".join(f"{key}: {line}" for key, line in pairs if line)
    return str(value)
