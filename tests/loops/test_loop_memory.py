"""What a loop remembers of its own rounds: kept as tagged memory, told to the maker, and no reason to fail."""

import contextlib
import json
import os
from pathlib import Path

import pytest
from loop_scene import LoopScene, loop, opinion

from donewhen.loops.notes import NOTEBOOK, RoundBegan
from donewhen.memory.open_store import FILE, RepairStoreHandle
from donewhen.memory.tagged_texts import MOST_OF_SOURCE, TaggedText
from donewhen.storage.archive import Archive
from donewhen.workspace.state_dir import state_root

REPORT = {"level": "report", "action": "report"}


def report_of(scene: LoopScene, text: str) -> None:
    scene.script([{"text": text}], [opinion(summary="it is true")])
    assert scene.run()[1]["outcome"] == "reported"


def remembered(scene: LoopScene) -> list[dict[str, str]]:
    return [json.loads(line) for line in scene("memory", "list", "--tag", "loop-state", "--json").out.splitlines()]


def test_how_rounds_ended_is_kept_with_tag_and_source_and_the_newest_five_are_told_to_the_maker(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(**REPORT))
    for number in range(1, 7):
        report_of(scene, f"report {number}")
    texts = remembered(scene)
    assert [one["text"] for one in texts] == [f"reported — report {number}" for number in range(6, 0, -1)]
    assert {one["source"] for one in texts} == {"loop:fixer"} and "loop-state" in texts[0]["tags"]
    report_of(scene, "report 7")
    with contextlib.closing(Archive.open(state_root(os.environ))) as archive:
        (note,) = archive.records(scene.session(), kinds=(f"{NOTEBOOK}.{RoundBegan.KIND}",))
    began = RoundBegan.load(note.body)
    assert [line.rpartition(" ")[2] for line in began.recalled] == ["6", "5", "4", "3", "2"]
    assert began.recalled[0].endswith(" reported — report 6")


@pytest.mark.promise("command.loop.history")
def test_a_decision_replaces_what_is_remembered_and_the_history_shows_it(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop())
    scene.run()
    (before,) = remembered(scene)
    assert before["text"].startswith("escalated — the level is assisted: a person decides; add() is right")
    scene("approve", scene.session())
    (after,) = remembered(scene)
    assert after["text"].startswith("proceeded — a person approved it")
    (row,) = [json.loads(line) for line in scene("loop", "history", "fixer", "--json").out.splitlines()]
    assert (row["outcome"], row["reason"]) == ("proceeded", "a person approved it")


def test_a_loop_keeps_its_state_where_hints_for_repairs_are_turned_off(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(**REPORT), more="[memory]\nenabled = false\n")
    report_of(scene, "report 1")
    assert [one["text"] for one in remembered(scene)] == ["reported — report 1"]


def test_a_memory_that_cannot_be_used_changes_no_outcome(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(**REPORT))
    (state_root(os.environ) / FILE).mkdir()
    report_of(scene, "report 1")


def test_a_secret_is_not_remembered_and_a_person_can_forget_what_is(tmp_path: Path) -> None:
    inputs = [{"name": "issues", "command": "echo seen", "env": ["ISSUE_TOKEN"]}]
    scene = LoopScene.made(tmp_path, loop(**REPORT, inputs=inputs))
    scene.env["ISSUE_TOKEN"] = "correct-horse-battery"
    report_of(scene, "the token is correct-horse-battery")
    (text,) = remembered(scene)
    assert text["text"] == "reported — the token is [ISSUE_TOKEN]"
    assert "forgotten: 1 text\n" in scene("memory", "forget", "--tag", "loop-state").err
    assert remembered(scene) == []


def test_only_the_newest_texts_of_a_source_are_kept(tmp_path: Path) -> None:
    handle = RepairStoreHandle(tmp_path)
    for number in range(MOST_OF_SOURCE + 3):
        text = TaggedText(
            repo="/r", source="loop:a", session=f"s{number:03}", tags=("t",), text="x\n\x1b[31my", at=f"{number:04}"
        )
        handle.write(lambda store, text=text: store.texts.put(text))
    kept = handle.read(lambda store: store.texts.newest("/r", "loop:a", 1000), [])
    assert (len(kept), kept[0].session, kept[0].text) == (MOST_OF_SOURCE, f"s{MOST_OF_SOURCE + 2:03}", "x y")
    assert handle.read(lambda store: store.texts.tagged("other"), []) == []
    handle.close()
