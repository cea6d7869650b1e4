"""`donewhen memory signature`: what a failure is recognised by, out of a log, for programs to read."""

import json
from pathlib import Path

import pytest

from program import donewhen

LOG = """\
2026-01-01T00:00:00.1234567Z \x1b[31mE       KeyError: 'tax'\x1b[0m
=========================== short test summary info ============================
FAILED tests/test_shop.py::test_total[3-a] - KeyError: 'tax'
FAILED tests/test_shop.py::test_total[4-b] - KeyError: 'tax'
========================= 2 failed, 40 passed in 0.51s =========================
"""


@pytest.mark.promise("command.memory.signature")
def test_both_keys_the_ids_and_the_reader_are_printed_as_json(tmp_path: Path) -> None:
    (tmp_path / "ci.log").write_text("building\n" * 3000 + LOG + "cleaning up\n" * 3000)
    answer = donewhen("memory", "signature", "ci.log", "--check", "tests", cwd=tmp_path)
    told = json.loads(answer.out)
    assert (answer.code, told["reader"], told["ids"]) == (0, "pytest", ["tests/test_shop.py::test_total"])
    assert (told["where"]["check"], told["where"]["phase"], told["recall"]) == ("tests", "test", True)
    assert [(cause["kind"], cause["message"]) for cause in told["what"]["causes"]] == [("KeyError", "'tax'")]
    piped = donewhen("memory", "signature", "--check", "tests", cwd=tmp_path, given=LOG)
    assert json.loads(piped.out) == told


def test_a_log_that_nobody_understands_is_grouped_and_nothing_is_recalled_for_it(tmp_path: Path) -> None:
    answer = donewhen("memory", "signature", "-", cwd=tmp_path, given="frobnication failed at step 12\n")
    told = json.loads(answer.out)
    assert (answer.code, told["reader"], told["recall"]) == (0, "template", False)


@pytest.mark.parametrize("name", ["missing.log", "."])
def test_a_file_that_cannot_be_read_is_one_line_and_exit_2(tmp_path: Path, name: str) -> None:
    answer = donewhen("memory", "signature", name, cwd=tmp_path)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert name in answer.err


def test_without_a_word_of_what_to_do_it_says_so_in_one_line(tmp_path: Path) -> None:
    answer = donewhen("memory", cwd=tmp_path)
    assert (answer.code, answer.out, answer.err) == (2, "", "donewhen: Missing command.\n")
