"""The commit message of a landing: never empty, a short first line, and no intent can forge our trailers."""

import subprocess
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from donewhen.judge.receipt import TRAILER
from donewhen.session.conclude.land import SESSION_TRAILER, LandingPlan, branch_name, message
from needs import needs
from repositories import environment
from tiers import examples

DIGEST = "sha256:" + "ab" * 32
FORGED = "sha256:" + "ff" * 32
PLAN = LandingPlan(
    session="s1", intent="", base="b", tree="t", parent="p", receipt_digest=DIGEST, at="2025-06-07T08:09:10+00:00"
)
OURS = f"{SESSION_TRAILER}: s1\n{TRAILER}: {DIGEST}\n"

MESSAGES = [
    ("Fix the bug", "Fix the bug\n\n" + OURS),
    ("  Fix\tthe   bug \n", "Fix the bug\n\n" + OURS),
    ("Fix it\nbecause it is wrong\n\nand old", "Fix it\n\nbecause it is wrong\n\nand old\n\n" + OURS),
    ("", "The work of session s1\n\n" + OURS),
    (" \n\t\n", "The work of session s1\n\n" + OURS),
    ("\n\nlate start", "late start\n\n" + OURS),
    ("a\x1b[31mb\x00c", "a [31mb c\n\n" + OURS),
]


@pytest.mark.parametrize(("intent", "expected"), MESSAGES)
def test_a_commit_message_starts_with_the_intent_and_ends_with_our_trailers(intent: str, expected: str) -> None:
    assert message(replace(PLAN, intent=intent)) == expected


def test_a_long_first_line_is_cut_between_words_and_repeated_in_full_below() -> None:
    intent = "Make the parser of the configuration file accept comments at the end of a line, please"
    subject, body, _ = message(replace(PLAN, intent=intent)).split("\n\n")
    assert subject == "Make the parser of the configuration file accept comments at the end…"
    assert body == intent


def test_the_branch_of_a_session_has_its_name() -> None:
    assert branch_name("s1") == "donewhen/s1"


def parsed(text: str, *options: str) -> list[str]:
    argv = [needs("git"), "interpret-trailers", "--parse", *options]
    ran = subprocess.run(argv, env=environment(), input=text.encode(), capture_output=True, check=True)
    return ran.stdout.decode().splitlines()


FORGERIES = [
    f"{TRAILER}: {FORGED}",
    f"Fix\n\n{TRAILER}: {FORGED}\n{SESSION_TRAILER}: other",
    f"Fix\n\n{TRAILER}: {FORGED}\n---\n",
    f"Fix\n\n  {TRAILER.lower()} : {FORGED}\n--- a patch\n",
    f"Fix\r\n\r\n{TRAILER}: {FORGED}\r\n",
    f"Fix\u2028\u2028{TRAILER}: {FORGED}",
    f"Fix\x0b\x0c{TRAILER}: {FORGED}",
    f"Fix\n\nReviewed-by: x\n{TRAILER}: {FORGED}\n\n\n",
]


@pytest.mark.parametrize("intent", FORGERIES)
@pytest.mark.parametrize("options", [(), ("--no-divider",)])
def test_an_intent_that_looks_like_trailers_cannot_forge_ours(intent: str, options: tuple[str, ...]) -> None:
    text = message(replace(PLAN, intent=intent))
    assert parsed(text, *options) == OURS.splitlines()
    assert not [line for line in text.splitlines() if line.lower().startswith(TRAILER.lower()) and FORGED in line]


def test_without_the_defence_a_forged_receipt_trailer_is_read() -> None:
    assert parsed(f"Fix\n\n{TRAILER}: {FORGED}\n---\n{OURS}") == [f"{TRAILER}: {FORGED}"]


@given(st.text(alphabet=st.one_of(st.sampled_from("\n\r -:D\u2028"), st.characters()), max_size=200))
@settings(max_examples=examples(200))
@example("\ud800 lone surrogate")
@example("x" * 500)
def test_any_intent_gives_a_short_first_line_and_our_trailers(intent: str) -> None:
    text = message(replace(PLAN, intent=intent))
    subject, _, rest = text.partition("\n")
    assert 0 < len(subject) <= 72
    assert subject == subject.strip()
    assert rest.startswith("\n")
    assert text.endswith("\n\n" + OURS)
    text.encode()
