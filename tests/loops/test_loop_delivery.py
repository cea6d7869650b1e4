"""The report of a loop round: its text, and the places that it is delivered to."""

import json
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from loop_scene import LoopScene, loop
from scheduler_process import rows

from donewhen.errors import BadInput
from donewhen.events import RoundFinished
from donewhen.loops.report import Delivery, deliver, is_delivered, rendered
from donewhen.loops.spec import spec_of
from repositories import git
from tables import every_row

MAKER = {"status": "done", "turns": 2, "text": "Fixed the sign.\n\nIt was wrong."}
CHECKER = {"status": "confirmed", "turns": 1, "text": "add() is right", "evidence": "sh check.sh"}
ESCALATED = RoundFinished(
    loop="fixer",
    intent="keep main green",
    outcome="escalated",
    reason="the gate always asks a person",
    level="assisted",
    maker=MAKER,
    checker=CHECKER,
    input_tokens=120,
    output_tokens=30,
    finding="0123456789abcdef",
)
TEXT = """\
[assisted] loop fixer (escalated)
intent: keep main green
maker: done in 2 turns
  Fixed the sign.

  It was wrong.
checker: confirmed in 1 turn
  add() is right
escalation: the gate always asks a person
finding: 0123456789abcdef
tokens: 120 in / 30 out
"""


def finished(outcome: str, **fields: Any) -> RoundFinished:
    return RoundFinished(loop="fixer", intent="keep main green", outcome=outcome, level="unattended", **fields)


# -- the text --


def test_the_report_names_what_happened_line_by_line() -> None:
    assert rendered(ESCALATED) == TEXT
    action = {"kind": "branch", "summary": "the work is on the branch donewhen/0123"}
    assert rendered(finished("proceeded", action=action, input_tokens=1)).splitlines() == [
        "[unattended] loop fixer (proceeded)",
        "intent: keep main green",
        "action: branch — the work is on the branch donewhen/0123",
        "tokens: 1 in / 0 out",
    ]
    assert "reason: tokens: used 7, allowed 1" in rendered(finished("budget", reason="tokens: used 7, allowed 1"))


def test_what_an_agent_wrote_cannot_look_like_a_line_of_the_report_or_move_the_cursor() -> None:
    forged = "fine\n[unattended] loop fixer (proceeded)\r\x1b[2K\u202etokens: 0 in / 0 out\naction: none — nothing"
    lines = rendered(finished("failed", reason="a\nb", maker={**MAKER, "text": forged})).splitlines()
    assert [line for line in lines if not line.startswith("  ")] == [
        "[unattended] loop fixer (failed)",
        "intent: keep main green",
        "maker: done in 2 turns",
        "reason: a b",
        "tokens: 0 in / 0 out",
    ]
    assert all(line.isprintable() for line in lines)


@every_row(
    [
        ("reported", "Three issues are new.", True),
        ("reported", "NOTHING TO DO", False),
        ("reported", "  **Nothing to do.**\n", False),
        ("reported", "NOTHING TO DO, except for one thing", True),
        ("escalated", "NOTHING TO DO", True),
        ("budget", "", True),
        ("failed", "NOTHING TO DO", True),
        ("proceeded", "Fixed.", False),
        ("skipped", "", False),
    ]
)
def test_what_needs_no_attention_is_not_delivered(row: tuple[str, str, bool]) -> None:
    outcome, text, expected = row
    assert is_delivered(finished(outcome, maker={**MAKER, "text": text})) is expected


# -- the places --


@dataclass
class Webhook:
    url: str
    status: int = 204
    received: list[tuple[dict[str, str], dict[str, Any]]] = field(
        default_factory=list[tuple[dict[str, str], dict[str, Any]]]
    )


@pytest.fixture
def webhook() -> Generator[Webhook]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            hook.received.append((dict(self.headers), body))
            self.send_response(hook.status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        hook = Webhook(f"http://127.0.0.1:{server.server_address[1]}/report?room=1")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield hook
        server.shutdown()


async def delivered(top: Path, *places: str) -> tuple[list[str], list[str]]:
    """Deliver a report. Return the problems, and what was said."""
    said: list[str] = []
    delivery = Delivery(top=top, session="0123abcd", say=said.append)
    return await deliver(TEXT, ESCALATED, places, delivery), said


@pytest.mark.anyio
async def test_a_webhook_gets_the_text_and_every_fact_with_a_key_against_repetition(
    tmp_path: Path, webhook: Webhook
) -> None:
    assert await delivered(tmp_path, f"webhook:{webhook.url}", "stdout") == ([], TEXT.splitlines())
    ((headers, body),) = webhook.received
    assert body == {"text": TEXT, **ESCALATED.fields()}
    assert (headers["Idempotency-Key"], headers["Content-Type"]) == ("0123abcd", "application/json")
    for webhook.status in (302, 500):
        (problem,), _ = await delivered(tmp_path, f"webhook:{webhook.url}")
        assert f"the report could not be delivered to webhook:{webhook.url}" in problem
        assert problem.endswith(f"the server answered {webhook.status}")
    assert len(webhook.received) == 3  # a redirection is not followed


@pytest.mark.anyio
async def test_a_report_is_added_to_a_file_below_the_repository_or_to_any_that_is_named_in_full(
    tmp_path: Path,
) -> None:
    (top := tmp_path / "repo").mkdir()
    places = ("file:notes/a/report.md", f"file:{tmp_path}/whole/report.md", f"file:{top}/inside.md")
    for _ in range(2):
        assert await delivered(top, *places) == ([], [])
    for file in (top / "notes/a/report.md", tmp_path / "whole/report.md", top / "inside.md"):
        assert file.read_text() == f"{TEXT}\n" * 2


@pytest.mark.parametrize("place", ["file:linked/report.md", "file:report.md", "file:{top}/report.md"])
@pytest.mark.anyio
async def test_a_link_that_a_branch_brought_along_leads_no_report_elsewhere(tmp_path: Path, place: str) -> None:
    (top := tmp_path / "repo").mkdir()
    (outside := tmp_path / "outside").mkdir()
    (outside / "report.md").write_text("precious\n")
    (top / "linked").symlink_to(outside)
    (top / "report.md").symlink_to(outside / "report.md")
    (problem,), _ = await delivered(top, place.format(top=top))
    assert "could not be delivered" in problem and "link" in problem and "\n" not in problem
    assert (outside / "report.md").read_text() == "precious\n"
    assert await delivered(top, f"file:{outside}/report.md") == ([], [])  # the control: a person may name it in full
    assert (outside / "report.md").read_text().startswith("precious\n[assisted]")


@pytest.mark.parametrize(
    "place",
    [
        "file:../report.md",
        "file:a/../../b",
        "webhook:report",
        "webhook:ftp://host/x",
        "webhook:http://",
        "webhook:http://[x",
    ],
)
def test_a_place_that_cannot_be_reached_is_refused_with_the_key(place: str) -> None:
    with pytest.raises(BadInput, match=r"^'loop\[0\]\.deliver' must name"):
        spec_of({"name": "fixer", "intent": "x", "deliver": ["stdout", place]}, "loop[0].")


# -- in a round --


def test_a_place_that_is_gone_changes_no_outcome_and_is_told_in_one_line(tmp_path: Path) -> None:
    gone = "webhook:http://127.0.0.1:1/report"
    scene = LoopScene.made(
        tmp_path,
        loop(deliver=[gone, "file:check.sh/report.md", "stdout"]),
        loop("quiet", level="report", action="report", deliver=["file:quiet.md"]),
    )
    answer = scene("loop", "run", "fixer")
    assert answer.code == 3 and "[assisted] loop fixer (escalated)" in answer.out
    notes = [line for line in answer.err.splitlines() if "could not be delivered" in line]
    assert [line.split(":")[1].split()[-1] for line in notes] == ["webhook", "file"]
    shown = scene("loop", "run", "fixer", "--json")  # skipped: nothing is delivered
    assert shown.code == 0 and "could not be delivered" not in shown.err

    scene.script([{"text": "NOTHING TO DO"}], [{"text": "no"}] * 2)
    assert scene.run("quiet")[1]["outcome"] == "reported"
    assert not (scene.root / "quiet.md").exists() and git(scene.root, "status", "--porcelain") == ""


def test_a_long_report_is_delivered_whole_and_a_longer_one_says_how_much_is_left_out(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop("looker", level="report", action="report", deliver=["file:out.md"]))
    written: list[str] = []
    for size in (900, 1500):
        text = "".join(f"item {number:5}\n" for number in range(size))
        scene.script([{"text": text}], [{"text": "no"}] * 2)
        assert scene.run("looker")[0] == 0
        written.append((scene.root / "out.md").read_text())
        (scene.root / "out.md").unlink()
    assert "item   899\n" in written[0] and "more characters" not in written[0]
    assert "item  1499" not in written[1] and "… and 500 more characters\n" in written[1]


def test_a_run_for_cron_prints_reports_and_failures_and_nothing_else(tmp_path: Path) -> None:
    alone = loop("alone", level="unattended", allow=["branch"])
    blind = loop("blind", inputs=[{"name": "look", "command": "exit 7"}])
    webhook = loop("hooked", level="report", action="report", deliver=["webhook:http://127.0.0.1:9/"])
    scene = LoopScene.made(tmp_path, loop(), alone, blind, webhook)

    def cron(name: str) -> tuple[int, str, str]:
        answer = scene("loop", "run", name, "--unless-paused")
        return answer.code, answer.out, answer.err

    code, out, err = cron("fixer")
    assert (code, err, out.splitlines()[0]) == (3, "", "[assisted] loop fixer (escalated)")
    assert out.endswith(f"  donewhen deny {scene.session()}\n")
    assert cron("fixer") == (0, "", "")  # skipped: the work waits
    scene.script()
    assert cron("alone") == (0, "", "")  # proceeded
    outcomes = [row.outcome for name in ("fixer", "alone") for row in rows(scene.root, name)]
    assert outcomes == ["escalated", "skipped", "proceeded"]
    code, out, _ = cron("blind")
    assert code == 4 and "loop blind: failed: " in out
    scene.script([{"text": "Something is wrong."}])
    code, out, err = cron("hooked")
    assert (code, out) == (0, "") and "the report could not be delivered to webhook:" in err
    assert "round started" in scene("loop", "run", "hooked").out  # a person sees the round
