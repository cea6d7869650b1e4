"""A forge that answers with what it likes: the round ends as failed in one line, and spends nothing."""

import json
from pathlib import Path

import pytest
from attacked_forge import scene_on
from loop_scene import loop

from forge_server import ForgeServer
from forge_server.faults import Answers

PULL = b'[{"number": 1, "user": {"login": "x"}, "head": {"repo": {"id": 1}}, "base": {"repo": {"id": 1}}, "labels": 5}]'
DEEP = b"[" * 100_000
JSON = {"Content-Type": "application/json"}
ANSWERS = {
    "no JSON": Answers(200, value=b"\x1b[2J<html>", headers=JSON, is_wrong=True),
    "deep JSON": Answers(200, value=DEEP, headers=JSON, is_wrong=True),
    "another shape": Answers(200, value=b'{"number": "1"}', headers=JSON, is_wrong=True),
    "a list of something else": Answers(200, value=b"[1, null]", headers=JSON, is_wrong=True),
    "a number for a list": Answers(200, value=PULL, headers=JSON, is_wrong=True),
    "another encoding": Answers(200, value=b"[]", headers={**JSON, "Content-Encoding": "gzip"}),
    "a refusal": Answers(403, "no\x1b[2J\nround_finished"),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_of_any_form_is_a_failed_round_and_nothing_is_spent(
    server: ForgeServer, tmp_path: Path, name: str
) -> None:
    scene = scene_on(server, tmp_path, loop(action="open-pr"))
    server.fail("pulls/list", *[ANSWERS[name]] * 4)
    answer = scene("loop", "run", "fixer", "--json")
    events = [json.loads(line) for line in answer.out.splitlines()]
    last = [one for one in events if one["type"] == "round_finished"]
    assert (answer.code, [one["outcome"] for one in last]) == (4, ["failed"]), answer.err
    assert "Traceback" not in answer.err and "\x1b" not in answer.out + answer.err
    assert not [one for one in events if one["type"] == "model_turn"]
    server.faults.clear()
    assert scene.run()[1]["outcome"] == "escalated"  # the control: the same forge, honest
