"""Kill -9 around the notes of the memory: repairs and offers of a session count once, however it crashed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runs.repairs_seen import LEFT, RIGHT, offers, repairs, rows, shop
from runs.scenes import script

DRIVER = Path(__file__).with_name("memory_driver.py")
STEPS = [*LEFT, *RIGHT]
"""The failure of the second round is the known one."""


@pytest.mark.sample(0)
def test_an_offer_counts_once_and_a_repair_is_learnt_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = shop(tmp_path / "repo")
    monkeypatch.chdir(repo)
    monkeypatch.setenv("PYTHONPATH", str(DRIVER.parents[1]))
    command = [sys.executable, DRIVER, repo, script(tmp_path / "script.json", STEPS)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    *runs, counted, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["moments"][-1].split()[:2] for one in runs] == [
        [when, kind] for kind in ("round", "attempted", "judged", "landing") for when in ("before", "after")
    ]
    for one in [*runs, last]:
        assert (one["killed"], one["recovered"]) == (True, 0), one["moments"][-1]
    ended = [(offer["session"], offer["round"], offer["ending"]) for offer in counted["offers"]]
    assert len(ended) == 1 + len(runs)  # one was not disturbed
    assert {(one["session"], 2, "passed") for one in runs} < set(ended)
    assert [one["known"] for one in runs] == [[1, 1]] * len(runs)
    assert last["known"] == [0, 1]  # learnt only after the resume
    assert (repairs(repo)[0]["session"], offers()) == (last["session"], [])
    assert rows("SELECT count(*) FROM donewhen_repair_words") == [(1,)]
