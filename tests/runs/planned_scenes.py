"""Whole planned runs for tests: repositories, replies of planners and evaluators, and the notes behind the events.

Two kinds of repository: one with a person's contract, and one without, where the planner drafts it. In both the work
is done when `answer.txt` says "right". Checks are greps, so that a run costs little.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from donewhen.session.log.open_archive import any_archive
from repositories import git
from runs.scenes import Run, Step, call, run_json, say, scene, script, write

INTENT = "let answer.txt say right"
DONE = "grep -qx right answer.txt"
STEADY = "grep -q . answer.txt"
"""Green on the base."""
SCORES = ("contract_fidelity", "functionality", "code_quality", "verification_integrity")

Script = dict[str, Sequence[Step]]
Entry = dict[str, Any]


def bare(root: Path, files: Mapping[str, str] | None = None) -> Path:
    """A repository without a contract and without anything to propose one from."""
    return scene(root, {"donewhen.toml": "", **(files or {})})


# -- a planner --


def check(name: str, command: str, *covers: int, **more: Any) -> Entry:
    return {"name": name, "command": command, "covers": list(covers), **more}


def item(description: str = "say right", *verify: str, outcome: str = "answer.txt says right") -> Entry:
    return {"description": description, "files": ["answer.txt"], "outcome": outcome, "verify": list(verify)}


DRAFT = (check("done", DONE, 1), check("steady", STEADY))


def plan_text(*checks: Entry, items: Sequence[Entry] = (), **more: Any) -> str:
    """A plan as JSON, by default with one item that the contract covers."""
    given = {"task_title": "Say right", "spec_markdown": "# Spec\n\nThe answer is right.", **more}
    return json.dumps({**given, "checks": list(checks), "items": list(items) or [item()]})


def planned(*checks: Entry, items: Sequence[Entry] = (), **more: Any) -> Step:
    return say(plan_text(*checks, items=items, **more))


# -- an evaluator --


def evaluation(verdict: str = "pass", *findings: Entry, score: Any = 4, **more: Any) -> Step:
    high = sum(finding["severity"] == "high" for finding in findings)
    told_then: Entry = {
        "verdict": verdict,
        "summary": "looked at it",
        "high_severity_findings": high,
        "scorecard": dict.fromkeys(SCORES, score),
        "findings": list(findings),
        "unmet_contract_items": [],
        "residual_risks": [],
        "required_tracker_updates": [],
    }
    return say(json.dumps({**told_then, **more}))


def finding(title: str = "not good enough", command: str = "", severity: str = "high") -> Entry:
    return {"severity": severity, "title": title, "command": command}


PASS = evaluation()
FAIL = evaluation("fail", finding())


# -- a builder --


def builds(word: str = "right", words: str = "done", *steps: Step) -> list[Step]:
    return [write("answer.txt", f"{word}\n"), *steps, say(words)]


def tracks(number: object, state: str, note: str = "", **more: object) -> Step:
    return call("update_tracker", item=number, state=state, note=note, **more)


# -- whole runs --


def crew(
    planner: Sequence[Step] | Step = (), maker: Sequence[Step] = (), evaluator: Sequence[Step] = (PASS,)
) -> Script:
    return {
        "planner": [planner] if isinstance(planner, dict) else list(planner),
        "maker": list(maker) or builds(),
        "evaluator": list(evaluator),
    }


def cast(repo: Path, steps: Script) -> str:
    """The name of the model with these steps; a resumed session finds the newest ones."""
    return script(repo.parent / "script.json", steps)


def plan(repo: Path, steps: Script, *options: str, intent: str = INTENT) -> Run:
    return run_json(repo, "plan", intent, "--model", cast(repo, steps), "--json", *options)


def build(
    repo: Path,
    steps: Script,
    *options: str,
    engine: str = "planned",
    intent: str = INTENT,
    env: Mapping[str, str] | None = None,
) -> Run:
    model = cast(repo, steps)
    return run_json(repo, "run", intent, "--engine", engine, "--model", model, "--json", *options, env=env)


def log(repo: Path, session: str) -> Run:
    """All events of a session so far."""
    return run_json(repo, "log", session, "--json")


def ended(ran: Run) -> tuple[int, str]:
    return ran.code, str(ran.last.get("outcome", ""))


def roles(ran: Run) -> dict[str, int]:
    """The number of replies of each role."""
    return dict(Counter(event["role"] for event in ran.of("model_turn")))


def statuses(ran: Run) -> list[str]:
    """The status of each evaluation."""
    return [event["status"] for event in ran.of("evaluation_completed")]


def checks_of(event: Mapping[str, Any]) -> dict[str, str]:
    return {one["name"]: one["command"] for one in event["contract"]["checks"]}


def landed(repo: Path, session: str) -> dict[str, str]:
    """The changes of a session, by path."""
    branch = f"donewhen/{session}"
    names = git(repo, "diff", "--name-only", "main", branch).splitlines()
    return {name: git(repo, "show", f"{branch}:{name}") for name in names}


def notes(session: str, step: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The private notes of a kind."""
    with any_archive() as archive:
        found = [(record.kind, record.body) for record in archive.records(session) if record.seq is None]
    return [(kind.rpartition(".")[2], body) for kind, body in found if kind.rpartition(".")[0] == step]


def prompts_of(session: str, step: str) -> str:
    """Everything that a role received: rules, task, feedback, and tool results."""
    return "\n".join(str(body["text"]) for kind, body in notes(session, step) if kind in ("system", "round", "result"))
