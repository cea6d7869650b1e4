"""Plans as planners write them: gaps are filled and named, errors are reported together, coverage is not invented."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.engines.planned.plan import (
    LONGEST_LINE,
    LONGEST_PATH,
    LONGEST_SPEC,
    MOST_CHECKS,
    MOST_FILES,
    MOST_ITEMS,
    STOCK_OUTCOME,
    Plan,
    PlanItem,
    one_item,
    plan_in,
    uncovered,
)
from donewhen.engines.planned.reply_reader import LONGEST_COMMAND, MOST_COMMANDS, MOST_ISSUES
from donewhen.engines.typed_reply import InvalidReply
from tiers import examples

INTENT = "add paging to the list\n\nwith --page"
DETECTED = ["make test", "ruff check"]
WHOLE: dict[str, Any] = {
    "spec_markdown": "# Paging\n\n`list --page 2`",
    "contract_markdown": "It pages.",
    "task_title": "Paging",
    "checks": [{"name": "pages", "command": "sh pages.sh", "timeout_secs": 30, "covers": [1]}],
    "items": [{"description": "add it", "files": ["a.py"], "outcome": "pages work", "verify": ["pytest -q"]}],
    "not_verified": ["it is fast"],
}


def planned(detected: list[str] = DETECTED, /, **changed: Any) -> Plan:
    return plan_in(json.dumps(WHOLE | changed), INTENT, detected)


def issues_of(told: Any) -> tuple[str, ...]:
    reply = told if isinstance(told, str) else json.dumps(told)
    with pytest.raises(InvalidReply) as malformed:
        plan_in(reply, INTENT, DETECTED)
    assert all(len(issue.splitlines()) == 1 and issue.isprintable() for issue in malformed.value.issues)
    return malformed.value.issues


def issue_with(**changed: Any) -> str:
    (issue,) = issues_of(WHOLE | changed)
    return issue


def item(description: str = "d", outcome: str = "o", *verify: str, is_detected: bool = False) -> PlanItem:
    return PlanItem(description=description, outcome=outcome, verify=verify, is_detected=is_detected)


def with_items(*items: PlanItem, checks: tuple[Any, ...] = (), unverified: tuple[str, ...] = ()) -> Plan:
    return Plan(title="t", spec="s", contract_words="c", checks=checks, items=items, unverified=unverified)


# -- a complete plan --


def test_a_complete_plan_is_read_unchanged() -> None:
    plan = planned()
    assert plan == Plan(
        title="Paging",
        spec="# Paging\n\n`list --page 2`",
        contract_words="It pages.",
        checks=({"name": "pages", "command": "sh pages.sh", "covers": [1], "timeout_secs": 30},),
        items=(PlanItem(description="add it", files=("a.py",), outcome="pages work", verify=("pytest -q",)),),
        unverified=("it is fast",),
        filled=(),
    )


def test_a_fence_and_text_around_a_plan_are_ignored() -> None:
    reply = f"Here {{it}} is:\n```json\n{json.dumps(WHOLE)}\n```\nDone."
    assert plan_in(reply, INTENT, DETECTED) == planned()


def test_other_keys_of_a_check_are_passed_on_unchanged() -> None:
    more = {"expect_exit_zero": False, "quarantine": {"reason": "flaky", "until": "2026-12-31"}, "dir": ".", "x": [1]}
    (check,) = planned(checks=[{"name": "a", "command": "b", **more}]).checks
    assert check == {"name": "a", "command": "b", **more}
    assert type(planned().checks[0]["timeout_secs"]) is int


def test_item_numbers_covered_by_a_check_are_whole_and_unique() -> None:
    (check,) = planned(checks=[{"name": "a", "command": "b", "covers": [1.0, 1]}]).checks
    assert check["covers"] == [1]
    assert type(check["covers"][0]) is int


# -- missing parts --


@pytest.mark.parametrize("blank", [None, "", " \n\t", "\0"])
def test_a_blank_spec_is_made_from_the_intent(blank: Any) -> None:
    plan = planned(spec_markdown=blank)
    assert INTENT in plan.spec
    assert plan.filled == ("spec made from the intent",)


@pytest.mark.parametrize("blank", [None, "", " \n\t"])
def test_a_blank_title_is_the_first_line_of_the_intent(blank: Any) -> None:
    plan = planned(task_title=blank)
    assert plan.title == "add paging to the list"
    assert plan.filled == ()


def test_a_title_from_a_long_intent_has_72_characters() -> None:
    plan = plan_in('{"items": []}', "x" * 500, [])
    assert plan.title == "x" * 71 + "…"


@pytest.mark.parametrize("blank", [None, "", " "])
def test_a_blank_contract_text_is_made_from_the_items(blank: Any) -> None:
    plan = planned(contract_markdown=blank)
    assert "1. add it: pages work\n   - `pytest -q`" in plan.contract_words
    assert plan.filled == ()


@pytest.mark.parametrize("blank", [None, "", " "])
def test_a_blank_description_is_the_intent(blank: Any) -> None:
    plan = planned(items=[WHOLE["items"][0] | {"description": blank}])
    assert plan.items[0].description == "add paging to the list with --page"
    assert plan.filled == ("item 1: description taken from the intent",)


@pytest.mark.parametrize("blank", [None, "", " "])
def test_a_blank_outcome_becomes_a_standard_sentence(blank: Any) -> None:
    plan = planned(items=[WHOLE["items"][0], WHOLE["items"][0] | {"outcome": blank}])
    assert plan.items[1].outcome == STOCK_OUTCOME
    assert plan.filled == ("item 2: default outcome",)


@pytest.mark.parametrize("blank", [None, [], ["", " \n"]])
def test_an_item_without_verify_commands_gets_the_detected_ones(blank: Any) -> None:
    plan = planned(items=[WHOLE["items"][0] | {"verify": blank}])
    assert plan.items[0].verify == ("make test", "ruff check")
    assert plan.items[0].is_detected
    assert plan.filled == ("item 1: verify as detected",)


def test_an_item_without_any_verify_command_says_so() -> None:
    plan = planned([], items=[WHOLE["items"][0] | {"verify": []}])
    assert (plan.items[0].verify, plan.items[0].is_detected) == ((), False)
    assert plan.filled == ("item 1: verify is empty, nothing was detected",)


@pytest.mark.parametrize("blank", [None, []])
def test_a_plan_without_items_gets_one_item_made_from_the_intent(blank: Any) -> None:
    plan = planned(items=blank, checks=None)
    (only,) = plan.items
    assert (only.description, only.outcome) == ("add paging to the list with --page", STOCK_OUTCOME)
    assert plan.filled == ("no items: one made from the intent",)


def test_the_plan_used_when_there_is_none_says_so() -> None:
    plan = one_item(INTENT, DETECTED)
    assert [one.description for one in plan.items] == ["add paging to the list with --page"]
    assert (plan.items[0].verify, plan.items[0].is_detected) == (("make test", "ruff check"), True)
    assert (plan.title, plan.checks) == ("add paging to the list", ())
    assert plan.filled == ("no plan could be read: the intent is the only item",)


# -- errors --


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("", "the reply is empty"),
        ("  \n", "the reply is empty"),
        ("I cannot plan this.", "contains no readable JSON object"),
        ("[1, 2]", "contains no readable JSON object"),
        ("{}", "contains no readable JSON object"),
        ("null", "contains no readable JSON object"),
        ('{"answer": 42}', "has no 'items' or 'spec_markdown'"),
        ('{"items": [', "is broken"),
        ('{"items": ' + "[" * 100_000, "nested too deeply"),
        ("x" * 10_000_000, "longer than"),
    ],
    ids=lambda value: value[:20],
)
def test_a_reply_without_a_plan_is_malformed(reply: str, words: str) -> None:
    (issue,) = issues_of(reply)
    assert words in issue


@pytest.mark.parametrize(
    ("changed", "issue"),
    [
        ({"spec_markdown": 3}, "spec_markdown must be text, not a number"),
        ({"contract_markdown": []}, "contract_markdown must be text, not a list"),
        ({"task_title": {}}, "task_title must be text, not an object"),
        ({"items": "all"}, "items must be a list of objects, not 'all'"),
        ({"items": {"description": "a"}}, "items must be a list of objects, not an object"),
        ({"items": ["a"], "checks": []}, "items[0] must be an object, not 'a'"),
        ({"items": [{"description": 1}]}, "items[0].description must be text, not a number"),
        ({"items": [{"outcome": True}]}, "items[0].outcome must be text, not a truth value"),
        ({"items": [{}, {}, {"verify": "x"}]}, "items[2].verify must be a list of strings, not 'x'"),
        ({"items": [{"verify": ["x", 1]}]}, "items[0].verify must be a list of strings"),
        ({"items": [{"files": "a.py"}]}, "items[0].files must be a list of strings, not 'a.py'"),
        ({"items": [{"files": [None]}]}, "items[0].files must be a list of strings"),
        ({"not_verified": "speed"}, "not_verified must be a list of strings, not 'speed'"),
        ({"not_verified": [1]}, "not_verified must be a list of strings"),
        ({"checks": {"a": "b"}}, "checks must be a list of objects, not an object"),
        ({"checks": ["pytest"]}, "checks[0] must be an object, not 'pytest'"),
        ({"checks": [{"command": "x"}]}, "checks[0].name must be text that is not blank"),
        ({"checks": [{"name": " ", "command": "x"}]}, "checks[0].name must be text that is not blank"),
        ({"checks": [{"name": 1, "command": "x"}]}, "checks[0].name must be text, not a number"),
        ({"checks": [{"name": "a"}]}, "checks[0].command must be text that is not blank"),
        ({"checks": [{"name": "a", "command": "\0"}]}, "checks[0].command must be text that is not blank"),
        ({"checks": [{"name": "a", "command": ["x"]}]}, "checks[0].command must be text, not a list"),
    ],
)
def test_a_wrong_type_is_reported_with_its_key(changed: dict[str, Any], issue: str) -> None:
    assert issue_with(**changed) == issue


@pytest.mark.parametrize("covers", ["1", 1, [0], [2], ["1"], [True], [1.5], [float("nan")], {}, [-1], [[1]]])
def test_a_check_covers_numbers_of_items_that_are_there(covers: Any) -> None:
    issue = issue_with(checks=[{"name": "a", "command": "b", "covers": covers}])
    assert issue == "checks[0].covers must be a list of item numbers, from 1 to 1"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")], {"a": float("nan")}])
def test_a_number_that_cannot_be_stored_is_an_issue(value: Any) -> None:
    assert "checks[0].x is not a number" in issue_with(checks=[{"name": "a", "command": "b", "x": value}])


def test_deep_nesting_in_a_check_is_an_issue() -> None:
    deep = json.loads("[" * 50 + "]" * 50)
    assert issue_with(checks=[{"name": "a", "command": "b", "x": deep}]) == "checks[0].x is nested too deeply"


def test_all_issues_are_reported_together_and_very_many_are_counted() -> None:
    assert issues_of({"items": [1, {"verify": 2, "files": 3}], "checks": [{}], "spec_markdown": 4}) == (
        "spec_markdown must be text, not a number",
        "items[0] must be an object, not a number",
        "items[1].verify must be a list of strings, not a number",
        "items[1].files must be a list of strings, not a number",
        "checks[0].name must be text that is not blank",
        "checks[0].command must be text that is not blank",
    )
    many = issues_of({"items": [{"verify": 1, "files": 1}] * MOST_ITEMS})
    assert len(many) == MOST_ISSUES + 1
    assert many[-1] == "and 40 more"


# -- bounds --


@pytest.mark.parametrize(
    ("key", "entry", "most"),
    [("items", {"description": "a"}, MOST_ITEMS), ("checks", {"name": "a", "command": "b"}, MOST_CHECKS)],
)
def test_too_many_items_are_an_issue(key: str, entry: dict[str, str], most: int) -> None:
    assert planned(**{key: [entry] * most})
    issue = issue_with(**{key: [entry] * (most + 1)})
    assert issue == f"{key} has {most + 1} entries, at most {most} are allowed; make fewer"


@pytest.mark.parametrize(("key", "most"), [("verify", MOST_COMMANDS), ("files", MOST_FILES)])
def test_the_number_of_commands_and_files_of_an_item_is_limited(key: str, most: int) -> None:
    many = [f"x{number}" for number in range(most + 1)]
    assert planned(items=[{key: many[:-1]}])
    assert issue_with(items=[{key: many}]).startswith(f"items[0].{key} has {most + 1} entries")


def test_a_command_is_never_cut() -> None:
    assert planned(items=[{"verify": ["x" * LONGEST_COMMAND]}])
    assert "put them into a script" in issue_with(items=[{"verify": ["x" * (LONGEST_COMMAND + 1)]}])
    assert "put them into a script" in issue_with(checks=[{"name": "a", "command": "x" * (LONGEST_COMMAND + 1)}])
    assert "has a path of more than" in issue_with(items=[{"files": ["x" * (LONGEST_PATH + 1)]}])


@pytest.mark.parametrize("key", ["spec_markdown", "contract_markdown"])
def test_a_long_text_is_cut_with_a_note(key: str) -> None:
    plan = planned(**{key: "x" * (LONGEST_SPEC + 1)})
    text = plan.spec if key == "spec_markdown" else plan.contract_words
    assert len(text) == LONGEST_SPEC
    assert text.endswith("[cut here: 65,537 characters are more than 65,536]")
    assert plan.filled == (f"{key} cut at 65,536 characters",)


def test_long_lines_are_cut_with_a_note() -> None:
    long = "x" * (LONGEST_LINE + 1)
    entry = {"description": long, "outcome": long, "verify": ["v"]}
    plan = planned(items=[entry], task_title=long, not_verified=[long])
    assert [len(text) for text in (plan.title, plan.items[0].description, plan.items[0].outcome)] == [72, 2000, 2000]
    assert set(plan.filled) == {
        "title cut at 72 characters",
        "item 1: description cut at 2,000 characters",
        "item 1: outcome cut at 2,000 characters",
        "not_verified cut at 2,000 characters",
    }


def test_control_characters_and_lone_surrogates_are_removed() -> None:
    odd = "a\0\x1b\ud800\u202eb"
    check = {"name": odd, "command": odd, odd: odd, "x": {odd: [odd]}}
    entry = {"description": odd, "outcome": odd, "files": [odd], "verify": [odd]}
    told = {"spec_markdown": odd, "contract_markdown": odd, "task_title": odd, "not_verified": [odd]}
    plan = plan_in(json.dumps(told | {"items": [entry], "checks": [check]}), odd, [odd])
    for part in (plan, one_item(odd, [odd])):
        written = json.dumps(part.plain(), ensure_ascii=False).encode().decode()
        assert not set("\0\x1b\ud800\u202e") & set(written)
        assert "\\u00" not in written


# -- uncovered items --


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "  pytest \t -q\n",
        "make && pytest -q",
        "pytest -q && make",
        "a && pytest  -q && b",
        "echo 'a && b' && pytest -q",
        "x 2>&1 && pytest -q",
    ],
)
def test_an_item_is_covered_by_a_check_that_runs_its_own_verify_command(command: str) -> None:
    assert uncovered(with_items(item("d", "o", "make it", "pytest -q")), ["x", command]) == ()


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "pytest -q -x",
        "pytest -q || true",
        "make && pytest -q || true",
        "pytest -q; true",
        "make && pytest -q | cat",
        "make && pytest -q &",
        "echo '&& pytest -q && '",
        'echo "x && pytest -q && y"',
        "true # && pytest -q",
        "echo \\' && pytest -q && echo \\'; true",
        "(make && pytest -q) || true",
        "make && pytest -q\ntrue",
    ],
)
def test_an_item_is_not_covered_by_a_command_that_does_not_depend_on_it(command: str) -> None:
    assert uncovered(with_items(item("d", "o", "pytest -q")), [command]) == ("o",)


def test_a_command_chain_of_an_item_is_covered_only_as_a_whole() -> None:
    assert uncovered(with_items(item("d", "o", "a || b; c")), ["a ||  b; c"]) == ()


def test_a_detected_check_covers_no_item() -> None:
    assert uncovered(with_items(item("d", "o", "pytest -q", is_detected=True)), ["pytest -q"]) == ("o",)


def test_an_item_is_covered_by_a_check_that_names_it() -> None:
    items = item("d1", "o1"), item("d2", "o2"), item("d3", "o3")
    checks = ({"name": "a", "command": "x", "covers": [2]}, {"name": "b", "command": "y"})
    assert uncovered(with_items(*items, checks=checks), []) == ("o1", "o3")


def test_everything_not_covered_is_listed_once_with_the_planner_s_own_list_last() -> None:
    items = item("d1", "same"), item("d2", STOCK_OUTCOME), item("d3", "same")
    plan = with_items(*items, unverified=("speed", "same", "speed"))
    assert uncovered(plan, []) == ("same", f"d2: {STOCK_OUTCOME}", "speed")


# -- property tests --

json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
texts = st.text(max_size=20) | st.none()
items = st.fixed_dictionaries(
    {},
    optional={"description": texts, "outcome": texts, "files": st.lists(st.text()), "verify": st.lists(st.text())},
)
checks = st.fixed_dictionaries(
    {"name": st.text(min_size=1), "command": st.text(min_size=1)},
    optional={"covers": st.just([1]), "x": json_values},
)
plans = st.fixed_dictionaries(
    {"items": st.lists(items, max_size=3)},
    optional={
        "spec_markdown": texts,
        "task_title": texts,
        "checks": st.lists(checks, max_size=2),
        "not_verified": st.lists(st.text(), max_size=3),
    },
)
odd = st.dictionaries(st.sampled_from(["items", "spec_markdown", "checks", "task_title", "not_verified"]), json_values)


@settings(max_examples=examples(200))
@given((plans | odd | json_values).map(json.dumps) | st.text(alphabet='{}[]":, \n\\items1'), st.text(), st.text())
def test_any_reply_is_a_plan_that_can_be_stored_or_lines_with_the_reasons(
    reply: str, intent: str, detected: str
) -> None:
    try:
        plan = plan_in(reply, intent, [detected])
    except InvalidReply as malformed:
        assert malformed.issues
        assert all(len(issue.splitlines()) == 1 for issue in malformed.issues)
        return
    assert Plan.load(json.loads(json.dumps(plan.plain()).encode())) == plan
    assert plan.items
    assert all(one.description and one.outcome for one in plan.items)
    assert all((plan.title, plan.spec, plan.contract_words))
    assert len(uncovered(plan, [detected])) <= len(plan.items) + len(plan.unverified)


@settings(max_examples=examples(150))
@given(st.lists(st.text(alphabet="ab '\"&|;\\#()\n", max_size=12), max_size=4), st.text(alphabet="ab '\"&", max_size=8))
def test_coverage_works_for_any_commands(commands: list[str], verify: str) -> None:
    plan = with_items(item("d", "o", verify))
    assert uncovered(plan, [*commands, verify]) == ()
    assert uncovered(plan, commands) in ((), ("o",))
