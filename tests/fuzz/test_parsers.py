"""Every parser of foreign text handles any text quickly and raises only documented errors.

The time limit for a text is linear in its length. A function that gets long texts in production gets some of 4 MB, or
of its own limit.

`make test` gives each function a twentieth of the texts. With DONEWHEN_FUZZ=1 it gets all of them, which takes half
an hour.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.child import allowed_secs, offence, offence_of, texts
from fuzz.hostile_texts import LARGE, SIZE, damaged
from fuzz.registry import calls, most, without_entry
from tiers import SPARSE, examples

SHARE = os.environ.get("DONEWHEN_FUZZ", str(20 * SPARSE))
GROUPS = 6
CHILD = Path(__file__).parent / "child.py"
WALL_SECS = 1_800


def test_every_parser_has_an_entry() -> None:
    assert without_entry() == [], "say in tests/fuzz/registry.py how these are called"
    assert len(calls()) > 200


@pytest.mark.sample(1)
@pytest.mark.parametrize("group", range(GROUPS))
def test_no_hostile_text_takes_long_or_breaks_a_parser(group: int) -> None:
    names = list(calls())[group::GROUPS]
    done = subprocess.run(
        [sys.executable, str(CHILD), SHARE, *names], capture_output=True, text=True, timeout=WALL_SECS, check=False
    )
    assert done.stdout.splitlines() == ["done"], f"{done.stdout}{done.stderr[-2000:]}"


@settings(max_examples=500 if SHARE == "1" else examples(20))
@given(st.binary(max_size=2_000) | st.text(max_size=2_000).map(str.encode) | st.integers(0, 10**6).map(damaged))
def test_no_text_breaks_a_parser(content: bytes) -> None:
    assert {name: wrong for name in calls() if (wrong := offence_of(name, content))} == {}


def test_the_limits_catch_slow_and_failing_parsers() -> None:
    def slow(content: bytes) -> None:
        while content:
            pass

    def broken(content: bytes) -> None:
        raise RecursionError

    assert offence(slow, b"a", cpu_secs=0.1) == "more than 0.1 s of CPU time"
    assert offence(broken, b"a").startswith("RecursionError")
    assert offence(len, b"a") == ""


@pytest.mark.sample(0)
def test_the_limit_lets_a_linear_parser_pass_and_catches_a_quadratic_one_that_is_fast_on_short_texts() -> None:
    def linear(content: bytes) -> None:
        re.search(rb"(?<!\s)\s+x", content)

    def quadratic(content: bytes) -> None:
        for at in range(0, len(content), 24):
            content.count(b"x", at)

    assert offence(linear, b" " * LARGE, cpu_secs=allowed_secs(LARGE)) == ""
    assert offence(quadratic, b" " * SIZE, cpu_secs=allowed_secs(SIZE)) == ""
    assert offence(quadratic, b" " * (LARGE // 2), cpu_secs=allowed_secs(LARGE // 2)).startswith("more than")


def test_a_parser_gets_texts_as_long_as_it_may_be_given() -> None:
    assert max(map(len, texts("printable.one_line", 20))) > LARGE * 0.9
    assert 1_000_000 < max(map(len, texts("toml.parse_toml", 20))) <= most("toml.parse_toml")
    assert max(map(len, texts("workspace.git.store.lfs.pointer_in", 20))) <= SIZE + 1


def test_texts_are_made_from_the_patterns_of_the_module() -> None:
    made = list(texts("judge.protect.contents.line_files.gemfile", 1))
    assert any(b"gem" in one[:40] and len(one) > 20_000 for one in made)
