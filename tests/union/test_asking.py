"""Foreign texts are parsed in a process that may die: a text that kills it is unreadable, and the rest is answered."""

import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from donewhen.union.parser_client import BOOTED, ParserClient, ParserRequest
from donewhen.union.parser_process import answer
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.sandbox import level
from donewhen.workspace.state_dir import state_root

pytestmark = pytest.mark.anyio
PLAIN = ParserRequest("change", "a.py", {"before": b"x = 1\n", "after": b"x = 2\n"})
TRAP = ParserRequest("change", "trap.py", {"before": None, "after": b"x = 1\n"})


async def answers(*questions: ParserRequest, boot: str = BOOTED) -> tuple[list[Mapping[str, Any]], int]:
    async with Launcher.open() as launcher:
        reader = ParserClient(launcher, await level.recorded_probe(launcher, state_root(os.environ)), boot)
        return await reader.ask(questions), reader.processes


async def test_a_change_a_merge_and_symbols_are_answered_by_one_process() -> None:
    merge = ParserRequest("merge", "a.py", {"base": b"a\n", "ours": b"b\na\n", "theirs": b"a\nc\n"})
    symbols = ParserRequest("symbols", "a.py", {"after": b"def f(): ...\n"}, ("f", "g"))
    (change, merged, found), asked = await answers(PLAIN, merge, symbols)
    assert asked == 1
    assert change["symbols"]["modified"] == ["x"]
    assert "text" in merged
    assert [one["answer"] for one in found["found"].values()] == ["found", "no such symbol"]


async def test_a_file_without_a_grammar_has_no_language() -> None:
    ((told,), _) = await answers(ParserRequest("change", "a.txt", {"before": None, "after": b"x"}))
    assert told == {"language": ""}


async def test_a_text_too_large_for_a_parser_is_unreadable() -> None:
    ((told,), _) = await answers(ParserRequest("change", "a.py", {"before": None, "after": b"x = 1\n" * 400_000}))
    assert "more than the parser accepts" in told["unreadable"]


def trapped(deed: str) -> str:
    """The parser, which does something else at a file named trap.py."""
    trap = "import os, donewhen.union.parser_process as a; plain = a.answer\n"
    trap += f"def answer(asked):\n    if asked['path'] == 'trap.py': {deed}\n    return plain(asked)\n"
    trap += "a.answer = answer\n"
    return BOOTED.replace("main()", f"exec({trap!r}); main()")


@pytest.mark.parametrize("deed", [f"os.kill(os.getpid(), {int(signal.SIGSEGV)})", "bytearray(8 << 30)", "os._exit(0)"])
async def test_a_text_that_crashes_the_parser_is_unreadable_and_the_next_ones_are_retried(deed: str) -> None:
    told, asked = await answers(PLAIN, TRAP, PLAIN, boot=trapped(deed))
    assert asked == 3
    assert [("unreadable" in one) for one in told] == [False, True, False]


async def test_texts_too_large_for_one_process_together_are_all_read() -> None:
    many = [ParserRequest("change", f"trap{number}/trap.py", PLAIN.texts) for number in range(5)]
    used_up = "os._exit(1) if (seen := globals().setdefault('seen', [])) and len(seen) > 1 else seen.append(1)"
    told, asked = await answers(*many, boot=trapped(used_up).replace("== 'trap.py'", "!= ''"))
    assert asked == 3
    assert not [one for one in told if "unreadable" in one]


DEEDS = {
    "write a file": "open({mine!r}, 'w').close()",
    "make a file": "open({mine!r} + '2', 'w').close()",
    "read a file": "open({mine!r}).close()",
    "open a socket": "__import__('socket').socket().close()",
    "start a program that writes": "assert os.system('echo x > {mine}') == 0",
    "signal others": "os.kill({pid}, 0)",
}


@pytest.mark.parametrize("deed", DEEDS)
async def test_a_compromised_parser_process_cannot_do_any_of_these(tmp_path: Path, deed: str) -> None:
    place = tmp_path / "mine"
    place.write_bytes(b"mine")
    words = DEEDS[deed].format(mine=str(place), pid=os.getpid())
    exec(words, {"os": os})  # the control: without a sandbox it works
    for made in tmp_path.iterdir():
        made.unlink()
    place.write_bytes(b"mine")
    before = sorted(tmp_path.iterdir()), place.read_bytes()
    (told,), _ = await answers(TRAP, boot=trapped(words))
    assert "unreadable" in told
    assert (sorted(tmp_path.iterdir()), place.read_bytes()) == before


def test_a_parser_answer_is_plain_json() -> None:
    asked: dict[str, Any] = json.loads(PLAIN.line())
    assert json.loads(json.dumps(answer(asked)))["language"] == "python"
