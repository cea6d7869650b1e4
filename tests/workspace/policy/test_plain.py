"""Decisions without a process: nearly every real command, with the policy's answer, and nothing that stalls the
parser."""

import pytest
from attack_commands import DENIED, DOUBTED
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ordinary_commands import ORDINARY
from stalling_text import SHORT, STALLING

from donewhen.workspace.policy import Policy, Ruling
from donewhen.workspace.policy.plain import MOST_PIPES, MOST_SCRIPTS, MOST_SIGNS, MOST_TEXT
from tables import every_row
from tiers import examples

POLICY = Policy.load(deny=["frobnicate"], root="/home/me/project")
PIECES = [
    *"ab |&;<>(){}$`'\"\\[]=!\n…",
    "${x:-",
    "$(",
    "<<E\n",
    "\nE\n",
    "[[ ",
    "sh -c ",
    "eval ",
    "x=",
    "$x",
    "git push ",
]


def test_ordinary_commands_are_decided_without_a_process() -> None:
    assert [command for command in ORDINARY if POLICY.decide_plain(command) is None] == []


@every_row([*ORDINARY, *DENIED, *DOUBTED])
def test_a_decision_without_a_process_is_the_decision_of_the_policy(command: str) -> None:
    assert POLICY.decide_plain(command) in (None, POLICY.decide(command))


@settings(max_examples=examples(150))
@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
@example("frobnicate")
@example("x='git push'; eval $x")
def test_any_short_text_gets_the_same_answer_without_a_process_or_none(text: str) -> None:
    assert POLICY.decide_plain(text) in (None, POLICY.decide(text))


@pytest.mark.parametrize(
    ("plain", "more"),
    [
        ("a" * MOST_TEXT, "a"),
        ("a" + ";a" * MOST_SIGNS, ";a"),
        ("a" + "|a" * MOST_PIPES, "|a"),
        ("echo " + "a" * 20, "…"),
        ("eval a;" * (MOST_SCRIPTS - 1), "eval a"),
    ],
    ids=["length", "signs", "pipes", "beyond ASCII", "scripts"],
)
def test_text_that_may_slow_the_parser_is_not_decided_without_a_process(plain: str, more: str) -> None:
    assert POLICY.decide_plain(plain) == POLICY.decide(plain)
    assert POLICY.decide_plain(plain + more) is None


def test_a_long_here_document_does_not_make_a_command_long() -> None:
    command = "cat > notes.md <<'E'\n" + "| a | table | of | words | …\n" * 400 + "E\n"
    assert POLICY.decide_plain(command) == POLICY.decide(command)


@pytest.mark.parametrize("command", [STALLING, SHORT, f"ls; sh -c '{STALLING}'"], ids=["plain", "eval", "sh"])
def test_stalling_text_is_never_decided_without_a_process(command: str) -> None:
    assert POLICY.decide_plain(command) is None


def test_a_short_text_may_hold_a_long_script() -> None:
    assert len(SHORT) < MOST_TEXT
    assert SHORT.count("|") < MOST_PIPES


def test_with_an_expression_no_command_is_decided_without_a_process() -> None:
    assert Policy.load(ask=["re:a"]).decide_plain("ls") is None


def test_unreadable_text_is_asked_about_like_unparsed_text() -> None:
    assert POLICY.decide_unread("  git push ") == Ruling(
        POLICY.decide("echo 'x").decision, "unparsed", "could not be parsed", "git push"
    )
