"""Which intents look complex enough for an external agent. A guess with stable rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.session.crew.crew import MANY_WORDS, looks_complex


@pytest.mark.parametrize(
    "intent",
    [
        "Refactor the billing module",
        "migrate from requests to httpx",
        "rename user to account across the code",
        "port it to Rust",
        "do this:\n- add a flag\n- read it from the file\n- document it",
        "1. parse\n2. check\n3. print",
        "word " * (MANY_WORDS + 1),
    ],
)
def test_a_broad_long_or_list_intent_counts_as_complex(intent: str) -> None:
    assert looks_complex(intent)


@pytest.mark.parametrize(
    "intent",
    ["fix the rounding in total()", "make the tests pass", "", "- one thing\n- another", "report the port in the log"],
)
def test_a_routine_intent_does_not_count_as_complex(intent: str) -> None:
    assert not looks_complex(intent)


@given(st.text())
def test_any_text_gets_an_answer(intent: str) -> None:
    assert looks_complex(intent) in (True, False)
