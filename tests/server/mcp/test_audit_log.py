"""The audit log: every call has two lines, and no line can be changed, removed or swapped without being found."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.errors import MachineryBroke
from donewhen.server.mcp.audit import AuditLog, problem_of
from tiers import examples

TEXTS = st.text(max_size=30)
CALLS = st.lists(st.tuples(TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=3)), min_size=1, max_size=4)


def written(path: Path, calls: list[tuple[str, dict[str, str]]]) -> list[bytes]:
    """Write calls and their outcomes. Return the lines."""
    log = AuditLog(path)
    for tool, arguments in calls:
        call = log.begin(client="editor", session="", tool=tool, arguments=arguments)
        log.end(call, "ok")
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.promise("mcp.governed")
@settings(max_examples=examples(30))
@given(CALLS)
def test_a_log_that_was_not_touched_has_no_problem(calls: list[tuple[str, dict[str, str]]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "audit.jsonl"
        lines = written(path, calls)
        assert len(lines) == 2 * len(calls)
        assert problem_of(path) == ""


@pytest.mark.promise("mcp.governed")
@settings(max_examples=examples(30))
@given(CALLS, st.data())
def test_a_change_of_any_byte_is_found(calls: list[tuple[str, dict[str, str]]], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "audit.jsonl"
        content = b"".join(written(path, calls))
        at = data.draw(st.integers(0, len(content) - 1))
        other = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[at]))
        path.write_bytes(content[:at] + bytes([other]) + content[at + 1 :])
        assert problem_of(path) != ""


@pytest.mark.promise("mcp.governed")
@settings(max_examples=examples(30))
@given(CALLS, st.data())
def test_a_removed_doubled_or_swapped_line_is_found(
    calls: list[tuple[str, dict[str, str]]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "audit.jsonl"
        lines = written(path, calls)
        at = data.draw(st.integers(0, len(lines) - 1))
        other = data.draw(st.integers(0, len(lines) - 1).filter(lambda line: line != at))
        swapped = [*lines]
        swapped[at], swapped[other] = lines[other], lines[at]
        for changed in (lines[:at] + lines[at + 1 :], [*lines[: at + 1], *lines[at:]], swapped, lines[:at], []):
            path.write_bytes(b"".join(changed))
            assert problem_of(path) != ""


def test_a_removed_log_and_a_removed_head_are_found(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    written(path, [("run", {})])
    head = path.with_suffix(".head")
    kept = head.read_bytes()
    head.unlink()
    assert problem_of(path) != ""
    head.write_bytes(kept)
    path.unlink()
    assert problem_of(path) != ""


@pytest.mark.promise("mcp.governed")
def test_several_processes_write_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    code = (
        "import sys; from pathlib import Path; from donewhen.server.mcp.audit import AuditLog\n"
        "log = AuditLog(Path(sys.argv[1]))\n"
        "for number in range(20):\n"
        "    log.end(log.begin(client='c', session='', tool='t', arguments={'number': number}), 'ok')\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert problem_of(path) == ""
    assert len(path.read_bytes().splitlines()) == 3 * 20 * 2


@pytest.mark.promise("mcp.governed")
def test_a_call_whose_process_died_has_an_unknown_outcome_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    code = (
        "import os, sys; from pathlib import Path; from donewhen.server.mcp.audit import AuditLog\n"
        "AuditLog(Path(sys.argv[1])).begin(client='c', session='', tool='run', arguments={})\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    log = AuditLog(path)
    alive = log.begin(client="here", session="", tool="verify", arguments={})
    assert len(log.close_unfinished()) == 1
    assert log.close_unfinished() == []
    log.end(alive, "ok")
    outcomes = [json.loads(line).get("outcome") for line in path.read_bytes().splitlines()]
    assert outcomes == [None, None, "unknown", "ok"]
    assert problem_of(path) == ""


def test_half_a_line_of_a_process_that_died_is_cut_off_by_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    written(path, [("run", {})])
    with path.open("ab") as file:
        file.write(b'{"n":3,"at":"20')
    assert problem_of(path) == "line 3: it is not complete"
    written(path, [("verify", {})])
    assert problem_of(path) == ""
    assert len(path.read_bytes().splitlines()) == 4


def test_a_line_that_was_written_without_its_head_counts(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    written(path, [("run", {})])
    head = path.with_suffix(".head").read_bytes()
    AuditLog(path).begin(client="c", session="", tool="diff", arguments={})
    path.with_suffix(".head").write_bytes(head)  # the process died between the line and the head
    assert problem_of(path) == ""
    written(path, [("verify", {})])
    assert problem_of(path) == ""


@pytest.mark.promise("mcp.governed")
def test_a_log_that_cannot_be_written_refuses_the_call(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MachineryBroke, match="the call was not made"):
        AuditLog(path).begin(client="c", session="", tool="run", arguments={})


def test_only_the_owner_can_read_the_log_and_no_secret_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    written(path, [("memory_record", {"text": f"token={secret} \x1b]0;title\x07" + "x" * 10_000})])
    for file in (path, path.with_suffix(".head")):
        assert os.stat(file).st_mode & 0o777 == 0o600
    content = path.read_text()
    assert secret not in content and "\\u001b" not in content and len(content) < 4000
