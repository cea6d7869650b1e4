"""The tracker: states change only by updates, and an edited file is data, not an authority."""

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.engines.planned.plan import Plan, PlanItem, one_item
from donewhen.engines.planned.tracker import (
    LONGEST_FILE,
    LONGEST_NOTE,
    MOST_NAMED,
    MOST_NOTES,
    ItemUpdate,
    NoSuchItem,
    State,
    Tracker,
)
from tiers import examples

ITEMS = (
    PlanItem(
        description="add paging", files=("a.py", "b c.py"), outcome="pages work", verify=("pytest -q", "make\nlint")
    ),
    PlanItem(description="say so in the docs", outcome="docs say so", verify=("make test",), is_detected=True),
    PlanItem(description="tidy", outcome="tidy"),
)
PLAN = Plan(title="Paging", spec="s", contract_words="c", checks=(), items=ITEMS)
START = Tracker.of(PLAN)
STATES: tuple[State, ...] = ("pending", "in_progress", "completed", "blocked")
RENDERED = """\
# Paging

- [/] 1. add paging
  files: a.py, b c.py
  outcome: pages work
  verify: pytest -q
  verify: make lint
  note: half way
- [x] 2. say so in the docs
  outcome: docs say so
  verify (detected): make test
- [!] 3. tidy
  outcome: tidy
"""


def after(*updates: ItemUpdate, start: Tracker = START) -> Tracker:
    for update in updates:
        start = start.updated(update)
    return start


def busy() -> Tracker:
    return after(ItemUpdate(1, "in_progress", "half way"), ItemUpdate(2, "completed"), ItemUpdate(3, "blocked"))


def edited(*changes: tuple[str, str]) -> tuple[tuple[ItemUpdate, ...], tuple[str, ...]]:
    text = RENDERED
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return busy().read_back(text)


# -- states --


def test_a_tracker_starts_with_every_item_pending() -> None:
    assert START.states == ("pending",) * 3
    assert START.notes == ((), (), ())
    assert START.open_items == (1, 2, 3)


@pytest.mark.parametrize("state", STATES)
def test_an_update_changes_one_state_and_nothing_else(state: State) -> None:
    changed = START.updated(ItemUpdate(2, state))
    assert changed.states == ("pending", state, "pending")
    assert (changed.title, changed.items, changed.notes) == (START.title, START.items, START.notes)
    assert START.states == ("pending",) * 3


def test_notes_are_appended_in_one_line_each() -> None:
    changed = after(
        ItemUpdate(1, "pending", "one\n two\0"), ItemUpdate(1, "pending", " "), ItemUpdate(1, "pending", "x" * 2000)
    )
    assert changed.notes[0][0] == "one two"
    assert len(changed.notes[0]) == 2
    assert len(changed.notes[0][1]) == LONGEST_NOTE


def test_an_item_that_is_not_completed_is_open() -> None:
    assert busy().open_items == (1, 3)


@pytest.mark.parametrize("number", [0, 4, -1])
def test_an_update_of_an_unknown_item_changes_nothing(number: int) -> None:
    with pytest.raises(NoSuchItem):
        START.updated(ItemUpdate(number, "completed"))


# -- selecting an item --


def kind_of(value: object) -> str:
    return type(value).__name__


@pytest.mark.parametrize(
    "told",
    [2, 2.0, "2", " 2 ", "item 2", "Item 2", "item2", "#2", "2.", "say so in the docs", " say so  in the docs\n"],
)
def test_an_item_is_named_by_its_number_or_its_description(told: object) -> None:
    assert START.number_of(told) == 2


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (0, "there is no item like that"),
        (7, "there is no item 7"),
        ("7", "there is no item '7'"),
        ("items 2", "there is no item 'items 2'"),
        ("say so", "there is no item 'say so'"),
        ("", "there is no item like that"),
        (True, "there is no item like that"),
        (None, "there is no item like that"),
        (1.5, "there is no item like that"),
        (float("nan"), "there is no item like that"),
        (10**5000, "there is no item like that"),
        ("9" * 5000, "there is no item '999"),
        ([2], "there is no item like that"),
        ({"item": 2}, "there is no item like that"),
    ],
    ids=kind_of,
)
def test_an_unknown_item_is_answered_with_the_list_of_items(told: object, words: str) -> None:
    with pytest.raises(NoSuchItem) as problem:
        START.number_of(told)
    assert str(problem.value).startswith(words)
    assert str(problem.value).endswith("there is: 1. add paging; 2. say so in the docs; 3. tidy")


def test_a_description_shared_by_two_items_is_ambiguous() -> None:
    twins = Tracker("t", (ITEMS[0], ITEMS[2], ITEMS[2]), ("pending",) * 3, ((),) * 3)
    with pytest.raises(NoSuchItem, match="2 items are called 'tidy'; use a number"):
        twins.number_of("tidy")


def test_an_empty_tracker_says_that_it_has_no_items() -> None:
    with pytest.raises(NoSuchItem, match="there is no item 1; there are none"):
        Tracker("t", (), (), ()).number_of(1)


# -- the file --


def test_the_file_shows_states_details_and_notes() -> None:
    assert busy().rendered() == RENDERED


def test_an_unchanged_tracker_file_gives_no_updates() -> None:
    assert busy().read_back(RENDERED) == ((), ())
    assert busy().read_back(RENDERED.replace("\n", "\r\n")) == ((), ())
    assert busy().read_back(RENDERED.replace("  files", "    - files").rstrip()) == ((), ())


@pytest.mark.parametrize(
    ("mark", "state"), [(" ", "pending"), ("x", "completed"), ("X", "completed"), ("!", "blocked")]
)
def test_a_changed_mark_is_an_update(mark: str, state: State) -> None:
    assert edited(("- [/] 1", f"- [{mark}] 1")) == ((ItemUpdate(1, state),), ())


def test_new_notes_are_updates_that_keep_the_state() -> None:
    found = edited(("  note: half way\n", "  note: half way\n  note: more\n  - note: and more\n"))
    assert found == ((ItemUpdate(1, "in_progress", "more"), ItemUpdate(1, "in_progress", "and more")), ())


def test_a_changed_mark_and_a_new_note_are_one_update() -> None:
    found = edited(("- [!] 3. tidy\n", "- [x] 3. tidy\n  note: done\n"))
    assert found == ((ItemUpdate(3, "completed", "done"),), ())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("verify: pytest -q", "verify: true"), "item 1: its verify commands were changed; they stay as they were"),
        (("  verify: make lint\n", ""), "item 1: its verify commands were changed; they stay as they were"),
        (("verify (detected): make test", "verify: make test"), "item 2: its verify commands were changed"),
        (("1. add paging", "1. add less"), "item 1: its description was changed; it stays as it was"),
        (("a.py, b c.py", "a.py"), "item 1: its files were changed; they stay as they were"),
        (("outcome: pages work", "outcome: whatever"), "item 1: its outcome was changed; it stays as it was"),
        (("note: half way", "nothing"), "item 1: a note was changed or removed; it stays as it was"),
        (("# Paging", "# Other"), "the title was changed; it stays as it was"),
        (("- [!] 3. tidy\n", "- [!] 4. tidy\n"), "item 3: its number was changed; it stays as it was"),
        (("- [!] 3. tidy\n  outcome: tidy\n", ""), "item 3 is not in the file; it stays as it was"),
        (("- [!] 3", "- [?] 3"), "item 3: the mark '?' is not a state"),
        (("- [!] 3", "- [] 3"), "item 3: the mark '' is not a state"),
        (("- [!] 3", "- [x] 9. new\n- [!] 3"), "'9. new' is not an item of the plan"),
        (("- [!] 3", "- [ ] 2. say so in the docs\n- [!] 3"), "'2. say so in the docs' is not an item of the plan, or"),
        (("  note: half way", "  note: half way\n  free words"), "'1. add paging' has 1 lines below it"),
        (("- [!] 3", "Free words\n- [!] 3"), "the line 'Free words' belongs to no item"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_other_differences_are_named_and_change_nothing(change: tuple[str, str], words: str) -> None:
    updates, ignored = edited(change)
    assert updates == ()
    assert any(line.startswith(words) for line in ignored)


def test_an_inserted_item_does_not_change_the_state_of_another_item() -> None:
    told = ("- [/] 1. add", "- [x] 1. new thing\n- [/] 2. add"), ("] 2. say", "] 3. say"), ("] 3. tidy", "] 4. tidy")
    updates, ignored = edited(*told)
    assert updates == ()
    assert any(line.startswith("'1. new thing' is not an item") for line in ignored)


def test_items_with_the_same_description_are_distinguished_by_number() -> None:
    twins = Tracker("t", (ITEMS[2], ITEMS[2]), ("pending", "pending"), ((), ()))
    swapped = "# t\n- [ ] 2. tidy\n  outcome: tidy\n- [x] 1. tidy\n  outcome: tidy\n"
    assert twins.read_back(swapped) == ((ItemUpdate(1, "completed"),), ())


def test_very_many_notes_and_differences_are_bounded() -> None:
    notes = "".join(f"  note: {number}\n" for number in range(MOST_NOTES + 5))
    updates, ignored = edited(("  note: half way\n", "  note: half way\n" + notes))
    assert len(updates) == MOST_NOTES
    assert ignored == (f"item 1: of {MOST_NOTES + 5} new notes only {MOST_NOTES} were kept",)
    _, ignored = busy().read_back(RENDERED + "".join(f"- [ ] {number}. new\n" for number in range(50, 90)))
    assert len(ignored) == MOST_NAMED + 1
    assert ignored[-1] == "and 20 more"


def test_an_absurdly_long_file_gives_no_updates() -> None:
    updates, (words,) = busy().read_back(RENDERED.replace("[!]", "[x]") + "x" * (LONGEST_FILE + 1))
    assert updates == ()
    assert words.endswith("all of it was ignored")


def test_a_cut_note_is_not_new_when_it_is_read_again() -> None:
    text = RENDERED + f"  note: {'x ' * LONGEST_NOTE}\n"
    updates, _ = busy().read_back(text)
    assert after(*updates, start=busy()).read_back(text) == ((), ())


# -- property tests --

anything = st.text(alphabet=st.characters(exclude_categories=[]), max_size=12)
some_items = st.builds(
    PlanItem,
    description=anything | st.just("tidy"),
    files=st.lists(anything, max_size=2).map(tuple),
    outcome=anything,
    verify=st.lists(anything, max_size=2).map(tuple),
    is_detected=st.booleans(),
)
some_updates = st.lists(st.builds(ItemUpdate, st.integers(1, 3), st.sampled_from(STATES), anything), max_size=5)


def tracker_of(items: Iterable[PlanItem], updates: Iterable[ItemUpdate], title: str = "t") -> Tracker:
    plan = Plan(title=title, spec="", contract_words="", checks=(), items=tuple(items))
    return after(*updates, start=Tracker.of(plan))


trackers = st.builds(tracker_of, st.lists(some_items, min_size=3, max_size=4), some_updates, anything)
pieces = st.sampled_from([*RENDERED.splitlines(keepends=True), "- [x] ", "  note: n\n", "\n", "- [x] 1. \n"])
edits = st.lists(pieces | anything, max_size=12).map("".join)


@settings(max_examples=examples(150))
@given(trackers)
def test_the_file_of_any_tracker_gives_no_updates_for_it(tracker: Tracker) -> None:
    assert tracker.read_back(tracker.rendered()) == ((), ())
    assert tracker.rendered().encode()
    assert tracker.rendered().isascii() or tracker.rendered().splitlines() == tracker.rendered().split("\n")[:-1]


@settings(max_examples=examples(150))
@given(trackers, edits)
def test_any_file_can_be_read_and_reading_it_twice_gives_no_new_updates(tracker: Tracker, text: str) -> None:
    updates, ignored = tracker.read_back(text)
    assert all(len(line.splitlines()) == 1 for line in ignored)
    changed = after(*updates, start=tracker)
    assert changed.items == tracker.items
    touched = {update.item for update in updates}
    assert all(changed.states[at] == tracker.states[at] for at in range(len(tracker.items)) if at + 1 not in touched)
    assert changed.read_back(text)[0] == ()


@settings(max_examples=examples(100))
@given(some_updates)
def test_item_states_come_from_the_last_updates(updates: list[ItemUpdate]) -> None:
    last = dict(
        itertools.chain(((number, "pending") for number in (1, 2, 3)), ((one.item, one.state) for one in updates))
    )
    assert after(*updates).states == tuple(last.values())


@settings(max_examples=examples(100))
@given(st.recursive(anything | st.integers() | st.floats() | st.none(), st.lists, max_leaves=3))
def test_any_name_gives_an_item_or_the_list_of_items(told: object) -> None:
    try:
        assert START.number_of(told) in (1, 2, 3)
    except NoSuchItem as problem:
        assert len(str(problem).splitlines()) == 1


def test_a_plan_of_one_item_has_a_tracker() -> None:
    assert Tracker.of(one_item("do it", [])).rendered().startswith("# do it\n\n- [ ] 1. do it\n  outcome: ")
