"""Plans as planners write them: read tolerantly, checked strictly, and ordered."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.engines.foreman.subtask_plan import (
    LONGEST_PROMPT,
    MOST_ISSUES,
    MOST_SUBTASKS,
    SubtaskPlan,
    SymbolRef,
    plan_in,
    plan_of,
)
from donewhen.engines.typed_reply import InvalidReply
from donewhen.union.patch import Footprint
from tiers import examples


def subtask(id: str = "a", *writes: str, reads: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """A subtask with symbols written as `file` or `file: symbol`."""
    return {"id": id, "prompt": f"do {id}", "writes": places(writes), "reads": places(reads), **more}


def places(told: tuple[str, ...]) -> list[dict[str, str]]:
    parts = [one.partition(": ") for one in told]
    return [{"file": file, "symbol": symbol} if symbol else {"file": file} for file, _, symbol in parts]


def replied(*subtasks: Any) -> str:
    return json.dumps({"subtasks": subtasks})


def issues_of(*subtasks: Any) -> tuple[str, ...]:
    with pytest.raises(InvalidReply) as unsound:
        plan_of(list(subtasks))
    return unsound.value.issues


def issues_in(reply: str) -> tuple[str, ...]:
    with pytest.raises(InvalidReply) as unsound:
        plan_in(reply)
    return unsound.value.issues


# -- finding the plan in a reply --

GOOD = replied(subtask("a", "a.py"), subtask("b", "b.py: f", reads=("a.py",)))


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Here {{as asked}} is the plan:\n\n{GOOD}\n\nGood luck!",
        f'First what I found: {{"files": 3, "inner": {{"x": 1}}}}. Then {GOOD}',
        f'The form is {{"subtasks": [...]}}, so:\n```\n{GOOD}\n```\nand {{"subtasks": 1}} no more',
        f"func main() {{ fmt.Println({{}}) }} {GOOD}",
        GOOD.replace("do a", "do a  \n "),
    ],
    ids=["alone", "fenced", "words", "another object first", "a broken sample first", "code", "raw line ends"],
)
def test_a_plan_is_found_in_any_surrounding_text(reply: str) -> None:
    assert plan_in(reply) == plan_in(GOOD)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("", "the reply is empty"),
        (" \n\t", "the reply is empty"),
        ("I cannot do that.", "contains no readable JSON object"),
        ('{"tasks": [{"id": "a"}]}', "has no 'subtasks'"),
        (GOOD[:-30], "is broken"),
        ('{"subtasks": [{"id": "a" "prompt": "x"}]}', "Expecting ',' delimiter in line 1, column 26"),
        ('{"a":' * 100_000, "nested too deeply"),
        ('{"subtasks":' + "[" * 100_000, "nested too deeply"),
        ('{"subtasks": []}', "at least one entry"),
        ('{"subtasks": {"id": "a"}}', "must be a list"),
        ('{"subtasks": ' + "9" * 10_000 + "}", "must be a list"),
        ('{"' * 400_000, "contains no readable JSON object"),
        ("x" * 4_000_001, "longer than"),
    ],
    ids=lambda value: value[:25],
)
def test_a_reply_without_a_plan_says_in_one_line_what_is_wrong(reply: str, words: str) -> None:
    (issue,) = issues_in(reply)
    assert words in issue


# -- valid subtasks --


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("do it", "subtasks[0] is 'do it' and not an object"),
        ([], "subtasks[0] is a list and not an object"),
        (subtask("", "a.py"), "'id' must be"),
        (subtask("a b", "a.py"), "not 'a b'"),
        (subtask("..", "a.py"), "not '..'"),
        (subtask("a\n", "a.py"), "not 'a\\n'"),
        (subtask("a/b", "a.py"), "not 'a/b'"),
        (subtask("x" * 65, "a.py"), "'id' must be"),
        (subtask("a", "a.py") | {"id": 7}, "not a number"),
        (subtask("a", "a.py") | {"id": float("nan")}, "not a number"),
        (subtask("a", "a.py", prompt=" \n"), "'a': 'prompt' must be text"),
        (subtask("a", "a.py", prompt=["x"]), "'a': 'prompt' must be text"),
        (subtask("a", "a.py", prompt="x" * (LONGEST_PROMPT + 1)), "'prompt' is longer"),
        (subtask("a"), "'a': has neither 'files' nor 'writes'"),
        (subtask("a", files="a.py"), "'files' must be a list, not 'a.py'"),
        (subtask("a", "a.py") | {"writes": {"file": "a.py"}}, "'writes' must be a list, not an object"),
        (subtask("a", "a.py") | {"reads": [3]}, "'reads' contains a number"),
        (subtask("a", "a.py") | {"reads": [{"symbol": "f"}]}, "'reads' contains nothing, which is not the path"),
        (subtask("a") | {"writes": [{"file": "a.py", "symbol": ["f"]}]}, "a 'symbol' in 'writes' is a list"),
        (subtask("a", "a.py: f\n\x1b[31m"), "which is not a name"),
        (subtask("a", "a.py: ()"), "which is not a name"),
        (subtask("a", "a.py: " + "f" * 201), "which is not a name"),
    ],
)
def test_a_malformed_subtask_is_an_issue_that_names_it(told: object, words: str) -> None:
    (issue,) = issues_of(told)
    assert words in issue
    assert len(issue.splitlines()) == 1


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd", "../a", "a/../../b", "a//b", "a/", "", ".", ".git/config", "sub/.GIT/hooks/x", "a\0b", "a\nb",
        "\udcff", "\ud800", "x" * 256, "d/" * 600 + "f",
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", ["files", "writes", "reads"])
def test_a_path_outside_the_repository_or_an_invalid_path_is_an_issue(path: str, key: str) -> None:
    told = subtask("a", "a.py")
    told[key] = [path] if key == "files" else [{"file": path}]
    (issue,) = issues_of(told)
    assert "is not the path of a file in the repository" in issue
    assert issue.isprintable()


@pytest.mark.parametrize("path", ["./a.py", "././a.py", "a.py", "a b/ü.py", ".github/x.yml", "a/.gitignore", ":(top)a"])
def test_an_ordinary_path_is_normalised_as_in_git(path: str) -> None:
    (one,) = plan_of([subtask("a", files=[path])]).subtasks
    assert one.files == (path.replace("./", ""),)


@pytest.mark.parametrize("id", ["a", "A-1_x.y", "-", "_", ".a", "7", "x" * 64])
def test_ids_of_letters_digits_and_three_punctuation_marks_are_accepted(id: str) -> None:
    assert plan_of([subtask(id, "a.py")]).levels == ((id,),)


@pytest.mark.parametrize(
    ("told", "taken"),
    [
        ("Shop::total", "Shop.total"),
        ("Shop#total", "Shop.total"),
        ("(*Shop).total", "Shop.total"),
        ("`Shop.total()`", "Shop.total"),
        ("total(a, b)", "total"),
        ("Shop.*", "Shop"),
        ("Shop.#secret", "Shop.#secret"),
        ("operator()", "operator()"),
        (" * ", "*"),
        ("", "*"),
        (None, "*"),
    ],
)
def test_a_symbol_is_read_by_its_declared_name(told: str | None, taken: str) -> None:
    (one,) = plan_of([subtask("a") | {"writes": [{"file": "a.x", "symbol": told}]}]).subtasks
    assert one.writes == (SymbolRef("a.x", taken),)


def test_characters_that_no_program_accepts_are_removed_from_a_prompt() -> None:
    (one,) = plan_of([subtask("a", "a.py", prompt=" do\0 it \ud800 now ")]).subtasks
    assert one.prompt == "do it ? now"


# -- combinations of subtasks --


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.py", "a.py"),
        ("a.py", "a.py: f"),
        ("a.py: f", "a.py: f"),
        ("a.py: Shop", "a.py: Shop.total"),
        ("a.py: total", "a.py: Shop.total"),
        ("a.py: shop.Shop.total", "a.py: Shop.total"),
        ("a.py: Shop::total", "a.py: Shop#total"),
    ],
)
def test_two_subtasks_that_write_the_same_symbol_are_an_issue(one: str, other: str) -> None:
    for first, second in ((one, other), (other, one)):
        (issue,) = issues_of(subtask("a", first), subtask("b", second))
        assert issue.startswith("'a' and 'b' both write a.py")


@pytest.mark.parametrize("other", ["b.py", "a.py: g", "a.py: Shop.count", "a.py: ff"])
def test_two_subtasks_with_separate_writes_run_in_parallel(other: str) -> None:
    plan = plan_of([subtask("a", "a.py: f", "a.py: Shop.total"), subtask("b", other)])
    assert plan.levels == (("a", "b"),)
    assert not plan.prefer_single_session


def test_a_conflict_in_many_places_is_reported_once_with_a_count() -> None:
    both = [f"a.py: f{number}" for number in range(5)]
    (issue,) = issues_of(subtask("a", *both), subtask("b", *both))
    assert "both write a.py: f0 and 4 more" in issue


def test_a_file_used_as_a_directory_by_another_subtask_is_an_issue() -> None:
    (issue,) = issues_of(subtask("a", "x/y.py"), subtask("b", "x"))
    assert issue == "'a' writes x/y.py, but 'b' writes x as a file; name files, not directories"


@pytest.mark.parametrize(("other", "words"), [("a", "two subtasks have the id 'a'"), ("A", "differ only in case")])
def test_two_subtasks_with_the_same_id_are_an_issue(other: str, words: str) -> None:
    (issue,) = issues_of(subtask("a", "a.py"), subtask(other, "b.py"))
    assert words in issue


def test_a_dependency_cycle_is_an_issue_that_names_only_the_cycle() -> None:
    (issue,) = issues_of(
        subtask("free", "f.py"),
        subtask("late", "l.py", reads=("a.py",)),
        subtask("a", "a.py", reads=("b.py: g",)),
        subtask("b", "b.py: g", reads=("c.py",)),
        subtask("c", "c.py", reads=("a.py: x", "f.py")),
    )
    assert issue.endswith("in a cycle: a → b → c → a")


def test_duplicate_ids_are_not_reported_as_a_cycle() -> None:
    twins = subtask("a", "a.py"), subtask("a", "c.py", reads=("b.py",))
    (issue,) = issues_of(*twins, subtask("b", "b.py", reads=("a.py",)))
    assert "two subtasks have the id 'a'" in issue


def test_a_subtask_may_read_what_it_writes() -> None:
    assert plan_of([subtask("a", "a.py: f", reads=("a.py: f", "a.py"))]).needs_of("a") == frozenset()


def test_the_number_of_levels_is_the_length_of_the_longest_dependency_chain() -> None:
    plan = plan_of(
        [
            subtask("end", "e.py", reads=("b.py: f", "a.py")),
            subtask("a", "a.py"),
            subtask("b", "b.py: f", reads=("a.py: Any.thing",)),
            subtask("c", "b.py: g", reads=("b.py: other",)),
        ]
    )
    assert plan.levels == (("a", "c"), ("b",), ("end",))
    assert plan.needs_of("end") == {"a", "b"}
    assert not plan.prefer_single_session


def test_a_single_session_is_preferred_if_nothing_can_run_in_parallel() -> None:
    assert plan_of([subtask("a", "a.py", "b.py")]).prefer_single_session
    assert plan_of([subtask("a", "a.py"), subtask("b", "b.py", reads=("a.py",))]).prefer_single_session
    assert not plan_of([subtask("a", "a.py"), subtask("b", "b.py")]).prefer_single_session


def test_all_issues_are_reported_together_and_very_many_are_counted() -> None:
    assert len(issues_of(subtask("", "a.py"), subtask("b"), subtask("c", "x.py"), subtask("d", "x.py"))) == 3
    told = issues_of(*(subtask(f"s{number}") for number in range(50)))
    assert len(told) == MOST_ISSUES + 1
    assert told[-1] == "and 30 more"


def test_too_many_subtasks_are_an_issue() -> None:
    many = [subtask(f"s{number}", f"{number}.py") for number in range(MOST_SUBTASKS + 1)]
    assert plan_of(many[:-1]).levels
    assert "make fewer" in issues_of(*many)[0]


# -- results for others --


def test_the_footprint_has_all_files_limited_to_the_named_symbols() -> None:
    (one,) = plan_of([subtask("a", "a.py: f", "a.py: g", files=["b.py", "a.py", "b.py"])]).subtasks
    assert one.files == ("b.py", "a.py")
    assert one.footprint == Footprint(frozenset({"a.py", "b.py"}), (("a.py", "f"), ("a.py", "g"), ("b.py", "*")))
    assert one.footprint.symbols_of("a.py") == {"f", "g"}
    assert one.footprint.symbols_of("b.py") == frozenset()


def test_people_see_levels_places_and_the_first_line_of_each_prompt() -> None:
    plan = plan_of(
        [
            subtask("api", "src/api.py: Api.get", files=["new.py"], prompt="Add paging.\nMore words."),
            subtask("docs", "README.md", reads=("src/api.py: Api",), prompt="Say so \x1b[2J" + "y" * 200),
        ]
    )
    shown = plan.rendered()
    assert shown.startswith(
        "2 subtasks in 2 levels\nlevel 1\n  api: Add paging.\n    writes src/api.py: Api.get, new.py\nlevel 2\n"
    )
    assert shown.endswith("    writes README.md\n    reads src/api.py: Api\n    waits for api")
    assert all(line.isprintable() and len(line) < 120 for line in shown.split("\n"))


# -- property tests --

names = st.sampled_from(["f", "g", "Shop", "Shop.total", "total()", "A::b", "*", "", "(*T).m", "operator (x)::y"])
files = st.sampled_from(["a.py", "b.py", "d/c.ts", "./a.py", "d/e.go", "f.rs", "g.java", "h/i.rb", "j.c", "k.md"])
sites = st.fixed_dictionaries({"file": files, "symbol": names})
ids = st.sampled_from(["a", "b", "c", "d", "e-1"])
plausible = st.fixed_dictionaries(
    {"id": ids, "prompt": st.text(min_size=1, max_size=20)},
    optional={
        "files": st.lists(files, max_size=2),
        "writes": st.lists(sites, max_size=3),
        "reads": st.lists(sites, max_size=3),
    },
)
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
odd = st.dictionaries(st.sampled_from(["id", "prompt", "files", "writes", "reads"]), json_values)
plans = st.lists(plausible | odd | json_values, max_size=5)
sound = st.lists(plausible, min_size=1, max_size=5, unique_by=lambda one: str(one["id"]))


def plan_or_issues(reply: str) -> SubtaskPlan | tuple[str, ...]:
    try:
        return plan_in(reply)
    except InvalidReply as unsound:
        return unsound.issues


def is_told_well(issues: tuple[str, ...]) -> bool:
    return bool(issues) and all(len(issue.splitlines()) == 1 for issue in issues)


@settings(max_examples=examples(150))
@given(st.text() | st.text(alphabet='{}[]":, \n\\subtask1') | plans.map(lambda told: json.dumps({"subtasks": told})))
def test_any_text_is_a_plan_or_lines_with_the_reasons(reply: str) -> None:
    found = plan_or_issues(reply)
    assert isinstance(found, SubtaskPlan) or is_told_well(found)


@settings(max_examples=examples(150))
@given(plans)
def test_any_data_is_a_plan_or_lines_with_the_reasons(told: list[Any]) -> None:
    try:
        plan_of(told).rendered()
    except InvalidReply as unsound:
        assert is_told_well(unsound.issues)


@settings(max_examples=examples(150))
@given(sound)
def test_every_subtask_is_in_one_level_and_its_dependencies_in_earlier_ones(told: list[Any]) -> None:
    found = plan_or_issues(json.dumps({"subtasks": told}))
    if not isinstance(found, SubtaskPlan):
        return
    level = {id: number for number, ids in enumerate(found.levels) for id in ids}
    assert sorted(id for ids in found.levels for id in ids) == sorted(one["id"] for one in told)
    assert all(level[need] < level[id] for id in level for need in found.needs_of(id))
    assert all(any(level[need] == level[id] - 1 for need in found.needs_of(id)) for id in level if level[id])


@settings(max_examples=examples(150))
@given(sound)
def test_a_stored_plan_is_loaded_as_the_same_plan(told: list[Any]) -> None:
    found = plan_or_issues(json.dumps({"subtasks": told}))
    if isinstance(found, SubtaskPlan):
        again = plan_of(json.loads(json.dumps(found.plain())))
        assert (again, again.needs) == (found, found.needs)


@settings(max_examples=examples(60))
@given(sound, st.text(alphabet="words {}\n`:[]", max_size=30), st.booleans())
def test_a_fence_and_text_around_a_plan_are_ignored(told: list[Any], words: str, fenced: bool) -> None:
    plain = json.dumps({"subtasks": told}, indent=1 if fenced else None)
    reply = f"{words}\n```json\n{plain}\n```\n{words}" if fenced else f"{words} {plain} {words}"
    assert plan_or_issues(reply) == plan_or_issues(plain)
