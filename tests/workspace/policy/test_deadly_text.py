"""Text that kills the parser does not reach it, and is still understood.

The parser dies over `{` and a character beyond Latin-1 if nothing is mapped after a table of the C library. The
control shows that the installed parser still does; if it fails, the defence in `grammar` is no longer needed.
"""

import json
import signal
import subprocess
import sys
from itertools import product

import fenced_parsing
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from donewhen.workspace.policy import Policy
from donewhen.workspace.policy.grammar import harmless
from donewhen.workspace.policy.step import WorkingDir
from donewhen.workspace.policy.walk import every_step
from tiers import examples

DEADLY = ["{\u0100", "{…", "{\u2d6a", "{\U00031860", "{\U0010ffff", "echo {12…", "echo {1..…}", "echo {1..2…}"]
AROUND = ["TEXT", "echo TEXT}", "echo a'TEXT'", 'echo "$(TEXT)"', "[[ a =~ TEXT ]]", "x=TEXT", "cat <<E\n$x TEXT\nE"]
OPENINGS = ["{", "{{", "${", "{0", "{0.", "{..", "{1..", "{1..2", "{1..2..", "{\\\n", "{ ", "{é", "é{"]
WIDE = ["\u0100", "…", "…{…", "\u3000", "\u2028", "日", "\U0001f600", "\U0010ffff"]


def parsed(how: str, texts: list[str]) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-I", fenced_parsing.__file__, how]
    return subprocess.run(argv, input=json.dumps(texts), capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("text", DEADLY, ids=ascii)
def test_a_text_that_kills_the_parser_does_not_kill_the_policy(text: str) -> None:
    assert parsed("bare", [text]).returncode == -signal.SIGSEGV
    survived = parsed("guarded", [text])
    assert survived.returncode == 0, survived.stderr


def test_the_memory_guard_kills_only_reads_beyond_the_table() -> None:
    survived = parsed("bare", ["echo {1..3} {é,ÿ} '…' \U0010ffff", "f() { ls; }"])
    assert survived.returncode == 0, survived.stderr


def test_no_large_character_after_a_brace_crashes_the_parser() -> None:
    texts = [around.replace("TEXT", opening + wide) for around, opening, wide in product(AROUND, OPENINGS, WIDE)]
    survived = parsed("guarded", texts)
    assert survived.returncode == 0, survived.stderr
    assert survived.stdout.startswith(f"{len(texts)} texts")


def looked_up(text: str) -> list[str]:
    """The characters that the parser looks up at any brace: it expects digits, two dots, digits."""
    found: list[str] = []
    for start in (index + 1 for index, sign in enumerate(text) if sign == "{"):
        ahead = [*text[start:], "\0"]
        found.append(ahead[0])
        while ahead[0].isascii() and ahead[0].isdigit():
            found.append(ahead.pop(0))
        found.append(ahead[0])
        if ahead[:2] == [".", "."]:
            del ahead[:2]
            while ahead[0].isascii() and ahead[0].isdigit():
                found.append(ahead.pop(0))
            found.append(ahead[0])
    return found


@settings(max_examples=examples(300))
@given(st.text(alphabet=st.sampled_from("{}.19a$é…日٣\U0010ffff") | st.characters(exclude_categories=["Cs"])))
@example("{{1..2{1…")
def test_parser_lookups_are_always_inside_the_table(text: str) -> None:
    seen = harmless(text)
    assert max(map(ord, looked_up(seen.decode())), default=0) <= 255
    assert len(seen) == len(text.encode())
    assert seen == text.encode() or max(map(ord, looked_up(text))) > 255


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo {…,b}c", ["echo", "…c", "bc"]),
        ("echo '{→}' \"{日本}\" a{\U0001f600", ["echo", "{→}", "{日本}", "a{\U0001f600"]),
        ("x={…; echo $x", ["echo", "{…"]),
        ("cat <<< {…", ["cat"]),
    ],
)
def test_a_large_character_after_a_brace_is_kept(command: str, words: list[str]) -> None:
    steps = list(every_step(command, WorkingDir("/tree", "/tree")))
    assert [word.text for word in steps[-1].words] == words


def test_a_large_character_after_a_brace_hides_no_command() -> None:
    policy = Policy.load(root="/home/me/project")
    for command in ("echo {…; git push", "echo {…$(git push)}", "echo '{…'; git push", "sh -c 'echo {…; git push'"):
        assert policy.decide(command).rule == "git-push"
    assert policy.decide("echo ${…}").rule == "unparsed"
    assert policy.decide("grep -rn '{…}' src").rule == "none"
