"""Every parser of foreign text takes any text: soon, and with no error but those it documents.

`make test` gives each function a twentieth of the texts. With DONEWHEN_FUZZ=1 it is all of them, which takes minutes.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.child import offence, offence_of, texts
from fuzz.hostile_texts import damaged
from fuzz.registry import calls, without_entry

SHARE = os.environ.get("DONEWHEN_FUZZ", "20")
GROUPS = 6
CHILD = Path(__file__).parent / "child.py"
WALL_SECS = 1_800


def test_every_parser_has_an_entry() -> None:
    assert without_entry() == [], "say in tests/fuzz/registry.py how these are called"
    assert len(calls()) > 200


@pytest.mark.parametrize("group", range(GROUPS))
def test_no_hostile_text_takes_long_or_breaks_a_parser(group: int) -> None:
    names = list(calls())[group::GROUPS]
    done = subprocess.run(
        [sys.executable, str(CHILD), SHARE, *names], capture_output=True, text=True, timeout=WALL_SECS, check=False
    )
    assert done.stdout.splitlines() == ["done"], f"{done.stdout}{done.stderr[-2000:]}"


@settings(deadline=None, max_examples=20 if SHARE == "20" else 500)
@given(st.binary(max_size=2_000) | st.text(max_size=2_000).map(str.encode) | st.integers(0, 10**6).map(damaged))
def test_no_text_at_all_breaks_a_parser(content: bytes) -> None:
    assert {name: wrong for name in calls() if (wrong := offence_of(name, content))} == {}


def test_the_limits_catch_what_takes_long_and_what_breaks() -> None:
    def slow(content: bytes) -> None:
        while content:
            pass

    def broken(content: bytes) -> None:
        raise RecursionError

    assert offence(slow, b"a", cpu_secs=0.1) == "more than 0.1 s of CPU time"
    assert offence(broken, b"a").startswith("RecursionError")
    assert offence(len, b"a") == ""


def test_texts_are_made_from_the_patterns_of_the_module() -> None:
    made = list(texts("judge.protect.lines.gemfile", 1))
    assert any(b"gem" in one[:40] and len(one) > 20_000 for one in made)
