"""Texts on their way to an editor and from it: prompts, hostile output, events as updates, patches. Pure."""

import itertools
from pathlib import Path
from typing import Any, cast

import pytest
from acp.helpers import (
    audio_block,
    embedded_blob_resource,
    embedded_text_resource,
    image_block,
    resource_block,
    resource_link_block,
    text_block,
)
from hypothesis import given
from hypothesis import strategies as st

from donewhen.errors import BadInput
from donewhen.server.acp.ending import ending_text, stop_reason
from donewhen.server.acp.patch_parts import below, edits_of, parts_of
from donewhen.server.acp.prompt_text import LONGEST, fenced, text_of
from donewhen.server.acp.shown import block, code, title, words
from donewhen.server.acp.updates import Updates
from repositories import commit, git, repository
from repositories import write as write_files

HOSTILE = "\x1b]0;title\x07\x1b[2J\u202e\u200b\x00\r![alt](http://evil.invalid/?secret)<img src=x>```\n# heading"


def test_text_of_a_file_follows_the_words_of_a_prompt_as_data() -> None:
    file = resource_block(embedded_text_resource("file:///repo/src/a%20b.py", "x = '```'\n"))
    blocks = [text_block("Fix"), file, text_block("please"), resource_link_block("c", "file:///repo/c.py")]
    assert text_of(blocks, "/repo") == (
        "Fix `src/a b.py` please `c.py`\n\nAttached by the person, `src/a b.py`:\n````\nx = '```'\n````"
    )


@pytest.mark.parametrize(
    ("blocks", "why"),
    [
        ([image_block("AAAA", "image/png")], "images cannot be used"),
        ([audio_block("AAAA", "audio/wav")], "audio cannot be used"),
        ([text_block("x"), resource_block(embedded_blob_resource("file:///repo/a", "AAAA"))], "is attached as bytes"),
        ([text_block(" \n")], "the prompt is empty"),
        ([], "the prompt is empty"),
        ([text_block("x" * (LONGEST + 1))], "the prompt is longer than"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(blocks: list[Any], why: str) -> None:
    with pytest.raises(BadInput, match=why) as refused:
        text_of(blocks, "/repo")
    assert "\n" not in str(refused.value)


@given(st.text())
def test_nothing_ends_a_code_block_but_its_end(text: str) -> None:
    first, *inside, last = fenced(text).split("\n")
    assert set(first) == {"`"}
    assert last == first
    assert all(first not in line for line in inside)


def test_texts_of_others_neither_act_nor_hide() -> None:
    for shown in (words(HOSTILE), block(HOSTILE), title(HOSTILE), code(HOSTILE)):
        assert not set(shown) & set("\x1b\x07\x00\r\u202e\u200b")
    assert "![" not in words(HOSTILE)
    assert "<img" not in words(HOSTILE)
    assert "\n" not in title(HOSTILE) + code(HOSTILE)
    assert code("a`b`") == "`aˋbˋ`"


def event(type: str, **fields: Any) -> dict[str, Any]:
    return {"seq": next(_SEQ), "at": "2026-11-19T00:00:00.000Z", "session": "s1", "type": type, **fields}


_SEQ = itertools.count(1)
STARTED = event(
    "session_started", intent="x", repo="/repo", base="a" * 40, engine="native", model="m", contract={},
    isolation="bubblewrap", path_transparent=True,
)  # fmt: skip


def shown(*lines: dict[str, Any]) -> list[dict[str, Any]]:
    updates = Updates("s1")
    return [one.model_dump(mode="json", by_alias=True, exclude_none=True) for line in lines for one in updates.of(line)]


def test_hostile_events_become_updates_without_control_characters() -> None:
    lines = [
        STARTED,
        event("plan_text", text=HOSTILE),
        event("tool_call", id=HOSTILE, tool=HOSTILE, params_preview=f'{{"path": "../../etc/{HOSTILE}"}}'),
        event("tool_result", id=HOSTILE, tool=HOSTILE, ok=False, preview=HOSTILE),
        event("protected_edit", path=HOSTILE, action=HOSTILE),
        event("policy_denied", command=HOSTILE, rule=HOSTILE, reason=HOSTILE),
        event("question_asked", id=HOSTILE, prompt=HOSTILE, expires_at=None),
        event("contract_proposed", contract={"checks": [{"name": HOSTILE, "command": HOSTILE}]}, why=[]),
        event("error", kind=HOSTILE, message=HOSTILE),
        event(
            "check_completed", name=HOSTILE, phase="round", attempt=1, status=HOSTILE, exit_code=1, signal=None,
            duration_ms=1, output_tail=HOSTILE, tests=None, evidence="exit", cached=False, reasons=[HOSTILE],
        ),
        event("subtask_started", id=HOSTILE, index=0, level=0, total=1),
        event("no_such_event", text=HOSTILE),
        event("tool_call"),
    ]  # fmt: skip
    for update in shown(*lines):
        texts = strings({key: value for key, value in update.items() if key != "toolCallId"})
        assert not set("".join(texts)) & set("\x1b\x07\x00\r\u202e\u200b"), update
        assert "locations" not in update


def strings(value: object) -> list[str]:
    match value:
        case dict():
            inner = [*cast("dict[str, object]", value).values()]
        case list():
            inner = cast("list[object]", value)
        case _:
            return [value] if isinstance(value, str) else []
    return [text for one in inner for text in strings(one)]


def test_calls_of_the_same_id_in_two_rounds_are_two_calls_for_the_editor() -> None:
    calls = [
        event("tool_call", id="call_1", tool="shell", params_preview='{"command": "ls"}'),
        event("tool_result", id="call_1", tool="shell", ok=True, preview="a"),
    ] * 2
    calls[2] = {**calls[2], "seq": 1000}
    found = [one["toolCallId"] for one in shown(STARTED, *calls) if "toolCallId" in one]
    assert found[0] == found[1] != found[2] == found[3]


LEVELS: dict[str, Any] = {"levels": [["a"]], "prefer_single_session": False}


def test_the_plan_shows_rounds_parts_and_items() -> None:
    updates = shown(
        STARTED,
        event("planning_completed", subtasks=[{"id": "a", "prompt": "do a"}], **LEVELS),
        event("subtask_started", id="a", index=0, level=0, total=1),
        event("subtask_applied", id="a"),
        event("planning_completed", subtasks=[], items=[{"description": "first"}], **LEVELS),
        event("tool_call", id="1", tool="update_tracker", params_preview='{"item": 1, "state": "completed"}'),
        event("tool_call", id="2", tool="update_tracker", params_preview='{"item": 1, "state": "comp…'),
        event("iteration_started", n=1, max=8),
        event("iteration_started", n=2, max=8),
    )  # fmt: skip
    plans = [one["entries"] for one in updates if one["sessionUpdate"] == "plan"]
    assert [(one["content"], one["status"]) for one in plans[-1]] == [
        ("Run the checks on the base", "in_progress"),
        ("a: do a", "completed"),
        ("1. first", "completed"),
        ("Round 1 of 8: work until the checks pass", "completed"),
        ("Round 2 of 8: work until the checks pass", "in_progress"),
    ]


def test_endings_say_what_happened_and_what_to_do() -> None:
    known: dict[str, Any] = {
        "id": "s1",
        "state": "finished",
        "outcome": "budget",
        "reason": "tokens used up: 5 of 4",
        "results": [],
    }
    assert stop_reason(known) == "max_turn_requests"
    assert "**budget**: tokens used up" in ending_text(known)
    assert stop_reason({**known, "outcome": "waiting", "reason": "the model refused to answer"}) == "refusal"
    assert stop_reason({**known, "outcome": "cancelled"}) == "cancelled"
    assert stop_reason({**known, "outcome": "red"}) == "end_turn"
    waiting = {"id": "s1", "state": "waiting", "gate": {"kind": "plan"}}
    assert "`/approve` or `/deny`, or say what to change" in ending_text(waiting, "waits")


# -- patches --


def test_a_patch_of_git_becomes_what_each_file_was_and_is(tmp_path: Path) -> None:
    before = {"a b.txt": "one\ntwo\nthree", "gone.txt": "x\n", "bin": b"\0\1", "é\t.py": "1\n", "same": "s\n"}
    root = repository(tmp_path / "repo", before)
    write_files(root, {"a b.txt": "one\n--- 2\nthree\n", "new/n.txt": "++ n\n", "bin": b"\0\2", "é\t.py": "2\n"})
    (root / "gone.txt").unlink()
    commit(root)
    patch = git(root, "diff", "HEAD~1", "HEAD") + "\n"
    parts = {one.path: (one.old, one.new, one.note) for one in parts_of(patch)}
    assert parts == {
        "a b.txt": ("one\ntwo\nthree", "one\n--- 2\nthree\n", ""),
        "gone.txt": ("x\n", "", ""),
        "new/n.txt": (None, "++ n\n", ""),
        "bin": ("", "", "the file is no text"),
        "é\t.py": ("1\n", "2\n", ""),
    }
    contents, places, left_out = edits_of(patch, str(root))
    assert (len(contents), left_out) == (4, 1)
    assert all(path.startswith(f"{root}/") for path, _ in places)


def test_a_long_patch_is_shown_in_part() -> None:
    hunks = "".join(f"@@ -{n},1 +{n},1 @@\n-{'a' * 3000}\n+{'b' * 3000}\n" for n in range(1, 400))
    contents, _, left_out = edits_of(f"diff --git a/x b/x\n--- a/x\n+++ b/x\n{hunks}", "/repo")
    assert 0 < len(contents) < 100
    assert len(contents) + left_out == 399


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "", ".", "a\0b"])
def test_a_path_that_leads_out_of_the_repository_is_no_place(path: str) -> None:
    assert below("/repo", path) == ""
    assert below("/repo", "a/../b") == "/repo/b"


@given(st.text(alphabet='@ -+,1\nabdiff/gt"\\', max_size=300))
def test_no_patch_breaks_the_reader(text: str) -> None:
    edits_of(f"--- a/x\n+++ b/x\n{text}", "/repo")
