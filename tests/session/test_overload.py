"""A time limit that runs out: a failure of the work on an idle machine, retried once on an overloaded one."""

import datetime
from pathlib import Path

import pytest

from donewhen.events import Event
from donewhen.judge.contract import Check, Contract
from donewhen.judge.green_proof import JudgeRequest
from donewhen.judge.judge import Judge
from donewhen.judge.run_cache import RunCache
from donewhen.judge.verdict import CheckStatus, Verdict
from donewhen.session.check.judge_tree import judge_environment
from donewhen.session.workplace import open_workplace
from needs import needs
from reply_server import serve_replies
from repositories import repository

pytestmark = pytest.mark.anyio


async def judged(root: Path, port: int, overloaded: bool) -> tuple[Verdict, list[Event]]:
    asks = f"import socket, time; word = socket.create_connection(('localhost', {port})).recv(9)"
    check = Check(name="slow", command=f"python3 -c \"{asks}; time.sleep(60 * (word == b'slow'))\"", timeout_secs=5)
    contract, told = Contract(checks=(check,), min_evidence="exit"), list[Event]()
    async with open_workplace(root) as place:
        case = JudgeRequest(
            base=place.repo.head,
            candidate=await place.store.tree_of(place.repo.head),
            environment=judge_environment(place, contract),
            today=datetime.datetime.now().astimezone().date(),
            overloaded=lambda: overloaded,
        )
        runs = RunCache(place.trees.directory / "kept-runs", False)
        return await Judge(place, contract, case, runs, told.append).verdict(), told


@pytest.mark.sample(1)
@pytest.mark.parametrize(("overloaded", "status"), [(True, CheckStatus.PASS), (False, CheckStatus.TIMEOUT)])
async def test_a_timeout_is_retried_only_if_the_machine_was_overloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overloaded: bool, status: CheckStatus
) -> None:
    needs("bwrap")
    root = repository(tmp_path / "repo")
    with serve_replies("slow", "quick") as port:
        monkeypatch.setenv("DONEWHEN__WORKSPACE__REACH", f"localhost:{port}")
        verdict, told = await judged(root, port, overloaded)
    (result,) = verdict.results
    assert result.status is status
    assert result.attempt == (2 if overloaded else 1)
    assert [event.fields()["phase"] for event in told if event.type() == "check_started"] == (
        ["final", "rerun"] if overloaded else ["final"]
    )
    assert ("timed out at first, on an overloaded machine" in result.reasons) is overloaded
