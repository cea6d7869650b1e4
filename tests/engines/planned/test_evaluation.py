"""Evaluations as evaluators write them: every rule counts alone, and an incomplete one is never a pass."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.engines.planned.evaluation import (
    LEAST_TO_PASS,
    MOST_ENTRIES,
    SCORES,
    Evaluation,
    Finding,
    evaluation_in,
)
from donewhen.engines.planned.reply_reader import LONGEST_COMMAND
from donewhen.engines.typed_reply import InvalidReply
from tiers import examples

GOOD: dict[str, Any] = {
    "verdict": "pass",
    "summary": "All is well.",
    "high_severity_findings": 0,
    "scorecard": dict.fromkeys(SCORES, 4),
    "findings": [],
    "unmet_contract_items": [],
    "residual_risks": [],
    "required_tracker_updates": [],
}
HIGH, LOW = {"severity": "high", "title": "it crashes"}, {"severity": "low", "title": "a typo"}


def evaluated(**changed: Any) -> Evaluation:
    return evaluation_in(json.dumps(GOOD | changed))


def issues_in(reply: str) -> tuple[str, ...]:
    with pytest.raises(InvalidReply) as malformed:
        evaluation_in(reply)
    assert all(len(issue.splitlines()) == 1 and issue.isprintable() for issue in malformed.value.issues)
    return malformed.value.issues


def issue_with(**changed: Any) -> str:
    (issue,) = issues_in(json.dumps(GOOD | changed))
    return issue


def issue_without(key: str) -> str:
    (issue,) = issues_in(json.dumps({name: value for name, value in GOOD.items() if name != key}))
    return issue


def scored(**changed: Any) -> dict[str, Any]:
    return dict.fromkeys(SCORES, 4) | changed


# -- the rules --


def test_an_evaluation_without_objections_passes() -> None:
    evaluation = evaluated()
    assert evaluation.failed_rules() == ()
    assert evaluation.passed
    assert evaluation.explained_summary() == "All is well."


@pytest.mark.parametrize("verdict", ["pass", "PASS", " Pass\n"])
def test_a_pass_is_accepted_in_upper_or_lower_case(verdict: str) -> None:
    assert evaluated(verdict=verdict).passed


@pytest.mark.parametrize("verdict", ["fail", "FAIL", "Fail "])
def test_a_fail_verdict_is_not_a_pass_for_any_scores(verdict: str) -> None:
    assert evaluated(verdict=verdict).failed_rules() == ("verdict is fail",)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(("score", "shown"), [(3, "3"), (1, "1"), (3.9, "3.9"), (3.0, "3")])
def test_each_score_needs_four(name: str, score: float, shown: str) -> None:
    evaluation = evaluated(scorecard=scored(**{name: score}))
    assert evaluation.failed_rules() == (f"{name} is {shown}, needs 4",)
    assert not evaluation.passed


@pytest.mark.parametrize("score", [LEAST_TO_PASS, 4.0, 4.5, 5])
def test_a_score_of_four_or_more_is_enough(score: float) -> None:
    assert evaluated(scorecard=dict.fromkeys(SCORES, score)).passed


@pytest.mark.parametrize(
    ("count", "findings", "rules"),
    [
        (1, [HIGH], ("1 high-severity finding",)),
        (2, [HIGH, LOW, HIGH], ("2 high-severity findings",)),
        (2.0, [HIGH, HIGH], ("2 high-severity findings",)),
        (
            0,
            [HIGH],
            ("1 high-severity finding", "the count of high-severity findings (0) and the list (1) disagree"),
        ),
        (
            2,
            [LOW],
            ("2 high-severity findings", "the count of high-severity findings (2) and the list (0) disagree"),
        ),
    ],
)
def test_a_counted_or_listed_high_severity_finding_prevents_a_pass(
    count: float, findings: Any, rules: tuple[str, ...]
) -> None:
    evaluation = evaluated(high_severity_findings=count, findings=findings)
    assert evaluation.failed_rules() == rules
    assert not evaluation.passed


def test_findings_of_lower_severity_do_not_prevent_a_pass() -> None:
    assert evaluated(findings=[LOW, {"severity": "Medium", "title": "slow"}]).passed


def test_every_unmet_item_prevents_a_pass() -> None:
    evaluation = evaluated(unmet_contract_items=["no --page", {"item": 2, "why": "no docs"}, "no --page", " ", None])
    assert evaluation.failed_rules() == ("unmet: no --page", "unmet: item: 2; why: no docs")


def test_risks_and_required_updates_do_not_prevent_a_pass() -> None:
    evaluation = evaluated(residual_risks=["slow"], required_tracker_updates=[{"item": 1, "state": "completed"}])
    assert evaluation.passed
    assert evaluation.risks == ("slow",)
    assert evaluation.tracker_updates == ("item: 1; state: completed",)


def test_every_failed_rule_is_listed_after_the_summary() -> None:
    scores = scored(functionality=3, code_quality=2)
    evaluation = evaluated(verdict="fail", scorecard=scores, findings=[HIGH], unmet_contract_items=["docs"])
    assert evaluation.explained_summary() == (
        "All is well. (not passed: verdict is fail; functionality is 3, needs 4; code_quality is 2, needs 4; "
        "1 high-severity finding; the count of high-severity findings (0) and the list (1) disagree; unmet: docs)"
    )


# -- malformed replies --


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("", "the reply is empty"),
        (" \n", "the reply is empty"),
        ("LGTM, ship it", "contains no readable JSON object"),
        ("pass", "contains no readable JSON object"),
        ('["pass"]', "contains no readable JSON object"),
        ("{}", "contains no readable JSON object"),
        ('{"evaluation": ' + json.dumps(GOOD) + "}", "has no 'verdict' or 'scorecard'"),
        (json.dumps(GOOD)[:-1], "is broken"),
        ('{"verdict": ' + "[" * 100_000, "nested too deeply"),
        ("x" * 10_000_000, "longer than"),
        (json.dumps(GOOD) + json.dumps(GOOD | {"verdict": "fail"}), "2 different answers"),
        ('{"verdict": "fail", "summary": "it says "' + json.dumps(GOOD) + '"', "broken JSON next to complete JSON"),
    ],
    ids=lambda value: value[:20],
)
def test_a_reply_without_one_evaluation_is_malformed(reply: str, words: str) -> None:
    (issue,) = issues_in(reply)
    assert words in issue


@pytest.mark.parametrize("verdict", [None, "", "passed", "pass|fail", "ok", True, 1, ["pass"], {"verdict": "pass"}])
def test_a_verdict_that_is_neither_pass_nor_fail_is_malformed(verdict: Any) -> None:
    assert issue_with(verdict=verdict).startswith("verdict must be 'pass' or 'fail', not ")
    assert issue_without("verdict") == "verdict must be 'pass' or 'fail', not nothing"


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(
    "score", [None, "4", True, float("nan"), float("inf"), 0, 0.99, 5.01, 6, -4, 10**400, [4], {"score": 4}]
)
def test_a_score_that_is_not_a_number_from_one_to_five_is_malformed(name: str, score: Any) -> None:
    assert issue_with(scorecard=scored(**{name: score})) == f"scorecard.{name} must be a number from 1 to 5"


@pytest.mark.parametrize("name", SCORES)
def test_a_missing_score_is_malformed(name: str) -> None:
    scores = {one: 5 for one in SCORES if one != name}
    assert issue_with(scorecard=scores) == f"scorecard.{name} must be a number from 1 to 5"


@pytest.mark.parametrize("scorecard", [None, [4, 4, 4, 4], "4/5", 4])
def test_a_scorecard_of_the_wrong_type_is_malformed(scorecard: Any) -> None:
    assert issue_with(scorecard=scorecard).startswith("scorecard must be an object with contract_fidelity, ")
    assert issue_without("scorecard").endswith("not nothing")


@pytest.mark.parametrize("count", [None, -1, 1.5, "0", True, float("nan"), float("inf"), 1001, [], 10**400])
def test_a_count_that_is_not_a_whole_number_is_malformed(count: Any) -> None:
    words = "high_severity_findings must be a whole number from 0 to 1000"
    assert issue_with(high_severity_findings=count) == words
    assert issue_without("high_severity_findings") == words


@pytest.mark.parametrize("key", ["findings", "unmet_contract_items"])
def test_a_missing_list_or_one_of_the_wrong_type_is_malformed(key: str) -> None:
    assert issue_without(key) == f"{key} must be a list; an empty one when there is nothing to say"
    assert issue_with(**{key: "none"}) == f"{key} must be a list, not 'none'"
    assert issue_with(**{key: {}}) == f"{key} must be a list, not an object"


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        ("it crashes", "findings[0] must be an object, not 'it crashes'"),
        ({"title": "x"}, "findings[0].severity must be 'high', 'medium' or 'low', not nothing"),
        (
            {"title": "x", "severity": "critical"},
            "findings[0].severity must be 'high', 'medium' or 'low', not 'critical'",
        ),
        ({"title": "x", "severity": 1}, "findings[0].severity must be 'high', 'medium' or 'low', not a number"),
        ({"severity": "low"}, "findings[0].title must be text that is not blank"),
        ({"severity": "low", "title": " "}, "findings[0].title must be text that is not blank"),
        ({"severity": "low", "title": 3}, "findings[0].title must be text, not a number"),
        ({**LOW, "command": ["a"]}, "findings[0].command must be text, not a list"),
        ({**LOW, "probe": 1}, "findings[0].probe must be text, not a number"),
        ({**LOW, "command": "x" * (LONGEST_COMMAND + 1)}, "findings[0].command has more than 4000 characters"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_incomplete_finding_is_malformed(finding: Any, words: str) -> None:
    assert issue_with(findings=[finding]).startswith(words)


@pytest.mark.parametrize("summary", [None, "", " \n", "\0", 3, ["well"]])
def test_a_summary_that_is_not_text_is_malformed(summary: Any) -> None:
    assert issue_with(summary=summary).startswith("summary must be text")
    assert issue_without("summary") == "summary must be text that is not blank"


@pytest.mark.parametrize("entry", [{}, [], [[]], {"why": None}, [[[[["deep"]]]]]])
def test_an_unmet_item_without_text_is_malformed_and_not_ignored(entry: Any) -> None:
    assert issue_with(unmet_contract_items=[entry]).startswith("unmet_contract_items[0] must be text")


@pytest.mark.parametrize("key", ["residual_risks", "required_tracker_updates"])
def test_risks_and_required_updates_may_be_missing_but_are_lists(key: str) -> None:
    assert evaluation_in(json.dumps({name: value for name, value in GOOD.items() if name != key})).passed
    assert evaluated(**{key: None}).passed
    assert issue_with(**{key: "none"}) == f"{key} must be a list, not 'none'"


@pytest.mark.parametrize("key", ["findings", "unmet_contract_items", "residual_risks", "required_tracker_updates"])
def test_too_many_findings_are_malformed(key: str) -> None:
    assert "at most 100 are allowed" in issue_with(**{key: [LOW] * (MOST_ENTRIES + 1)})


def test_all_reasons_are_reported_together() -> None:
    told: dict[str, Any] = {"verdict": "maybe", "scorecard": scored(functionality="5"), "findings": [{}]}
    assert issues_in(json.dumps(told)) == (
        "verdict must be 'pass' or 'fail', not 'maybe'",
        "summary must be text that is not blank",
        "high_severity_findings must be a whole number from 0 to 1000",
        "scorecard.functionality must be a number from 1 to 5",
        "findings[0].title must be text that is not blank",
        "findings[0].severity must be 'high', 'medium' or 'low', not nothing",
        "unmet_contract_items must be a list; an empty one when there is nothing to say",
    )


# -- results for others --


def test_a_fence_and_text_around_an_evaluation_are_ignored() -> None:
    assert evaluation_in(f"I looked at {{everything}}.\n```json\n{json.dumps(GOOD)}\n```\nBye.") == evaluated()


def test_probes_are_the_commands_of_findings_without_repetition() -> None:
    commands = [{"command": "sh a"}, {"probe": "sh b"}, {"command": "sh a", "probe": "sh c"}, {"command": " "}, {}]
    evaluation = evaluated(findings=[LOW | more for more in commands])
    assert evaluation.probes == ("sh a", "sh b")


def test_details_that_are_not_text_are_converted_to_text() -> None:
    details = ["plain\nwords", {"file": "a.py", "line": 3}, ["one", None, "two"], None, 4]
    found = evaluated(findings=[LOW | {"detail": detail} for detail in details]).findings
    assert [one.detail for one in found] == ["plain\nwords", "file: a.py; line: 3", "one, two", "", "4"]


def test_the_text_for_people_shows_verdict_scores_findings_and_unmet_items() -> None:
    finding = HIGH | {"detail": "on empty input\n\nalways", "command": "list ''"}
    changed = {"high_severity_findings": 1, "scorecard": scored(functionality=2.5), "unmet_contract_items": ["docs"]}
    evaluation = evaluated(
        **changed, findings=[finding, LOW], residual_risks=["slow"], required_tracker_updates=["1 is open"]
    )
    assert (
        evaluation.rendered(2)
        == """\
# Evaluation 2: not passed

Verdict of the evaluator: pass

All is well.

| score | 1 to 5, needs 4 |
|---|---|
| contract_fidelity | 4 |
| functionality | 2.5 |
| code_quality | 4 |
| verification_integrity | 4 |

## Why it is not passed

- functionality is 2.5, needs 4
- 1 high-severity finding
- unmet: docs

## Findings

- high: it crashes
  on empty input
  always
  probe: `list ''`
- low: a typo

## Unmet

- docs

## Risks that remain

- slow

## Required updates of the tracker

- 1 is open
"""
    )


def test_an_evaluation_without_findings_is_short() -> None:
    text = evaluated().rendered(1)
    assert text.startswith("# Evaluation 1: passed\n\nVerdict of the evaluator: pass\n\nAll is well.\n")
    assert "##" not in text


def test_text_loses_control_characters_and_lone_surrogates() -> None:
    odd = "a\0\x1b\ud800b"
    evaluation = evaluated(
        summary=odd,
        findings=[{"severity": "low", "title": odd, "detail": odd, "command": odd}],
        residual_risks=[{odd: odd}],
    )
    written = evaluation.rendered(1) + json.dumps(evaluation.plain(), ensure_ascii=False)
    assert not set("\0\x1b\ud800") & set(written)
    assert evaluation.findings == (Finding("low", "a\ufffdb", "a\ufffdb", "a\ufffdb"),)


# -- property tests --

json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
findings = st.fixed_dictionaries(
    {"severity": st.sampled_from(["high", "medium", "low", "odd"]), "title": st.text(max_size=5)},
    optional={"detail": json_values, "command": st.text(max_size=5), "probe": st.none()},
)
plausible: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "verdict": st.sampled_from(["pass", "fail", "Pass"]),
        "summary": st.text(min_size=1, max_size=9),
        "high_severity_findings": st.integers(0, 3),
        "scorecard": st.fixed_dictionaries({str(name): st.sampled_from([1, 3, 4, 4.5, 5]) for name in SCORES}),
        "findings": st.lists(findings, max_size=3),
        "unmet_contract_items": st.lists(json_values, max_size=1),
    },
    optional={"residual_risks": st.lists(json_values, max_size=3)},
)
odd_replies = st.tuples(st.sampled_from(sorted(GOOD)), json_values).map(lambda odd: GOOD | {odd[0]: odd[1]})


@settings(max_examples=examples(250))
@given(
    (plausible | odd_replies | json_values).map(json.dumps)
    | st.text()
    | st.text(alphabet='{}[]":, \n\\verdict1', max_size=60)
)
def test_any_reply_is_an_evaluation_that_can_be_stored_or_malformed(reply: str) -> None:
    try:
        evaluation = evaluation_in(reply)
    except InvalidReply as malformed:
        assert malformed.issues
        assert all(len(issue.splitlines()) == 1 for issue in malformed.issues)
        return
    assert Evaluation.load(json.loads(json.dumps(evaluation.plain()).encode())) == evaluation
    assert evaluation.rendered(1).encode()
    assert evaluation_in(json.dumps(evaluation.plain())) == evaluation


@settings(max_examples=examples(150))
@given(plausible)
def test_a_pass_needs_all_rules(told: dict[str, Any]) -> None:
    told |= {"unmet_contract_items": [str(one) for one in told["unmet_contract_items"]]}
    told |= {
        "summary": "s",
        "findings": [
            one | {"title": "t", "severity": one["severity"].replace("odd", "low")} for one in told["findings"]
        ],
    }
    evaluation = evaluation_in(json.dumps(told))
    highs = sum(one["severity"] == "high" for one in told["findings"])
    is_clean = told["high_severity_findings"] == highs == 0 and not evaluation.unmet
    is_pass = told["verdict"].lower() == "pass" and all(score >= 4 for score in told["scorecard"].values())
    assert evaluation.passed == (is_clean and is_pass)
    assert evaluation.passed == (evaluation.explained_summary() == evaluation.summary)
