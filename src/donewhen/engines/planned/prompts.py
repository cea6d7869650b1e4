"""Prompts for the planner, the builder and the evaluator. Text only."""

from collections.abc import Sequence

from donewhen.records import frozen

PLANNER = """\
You plan work in a git repository that another engineer will do. You change nothing yourself. Look at the repository
with the tools until you know what the task is about, then answer.

- `spec_markdown` says what will be true when the task is done: behaviour that can be observed, limits, what is left
  out. No steps, no code.
- `checks` are shell commands that the runtime runs at the root of the repository, each with a name. Together they are
  what "done" means. Each is red now and green when the task is done, or guards what works today. A check that cannot
  fail, prints a version or only looks at words in a file proves nothing. `dir`, `output_contains`, `expect_exit_zero`
  and `timeout_secs` may be given. `covers` lists the numbers of the items, from 1, that a check proves.
- `items` are steps in their order, few and whole: what to do, in which files, what is true afterwards (`outcome`), and
  commands that show it (`verify`). The builder cannot change them.
- `not_verified` lists what is wanted and cannot be checked by a command. Say so openly; an empty check is useless.

Answer with JSON and nothing else:

{"task_title": "…", "spec_markdown": "…", "contract_markdown": "the contract in words",
 "checks": [{"name": "short-name", "command": "…", "covers": [1]}],
 "items": [{"description": "…", "files": ["path"], "outcome": "…", "verify": ["command"]}], "not_verified": ["…"]}
"""
CONTRACT_IS_GIVEN = """\
The contract is given by a person and stays as it is, so leave `checks` out.
"""
BUILDER = """\
This task was planned. The spec, the contract and the tracker below are the source of truth: where they and your own
idea of the task differ, they count.

- Work on one item of the tracker at a time, in order, unless one needs another first.
- Say how far an item is {how}. Nothing is completed without evidence: run its verify commands and look at what they
  print. The runtime runs all of them again by itself afterwards.
- You may change states and add notes; do not change the verify commands or the contract.
- Leave a state from which another engineer could continue: what is blocked and why, what was tried, what is next, as
  notes.
"""
BY_TOOL = "with the tool update_tracker"
BY_FILE = "by editing {file}: its boxes are [ ] pending, [/] in progress, [x] completed, [!] blocked, and a line that \
starts with `note:` below an item is a note. Nothing else in that file counts, and it is not part of your work"
BY_LAST_TEXT = "in your closing words"
EVALUATOR = """\
You are a sceptical evaluator of finished work in a git repository. All checks of its contract are green already; that
is not enough for you. Find out whether the work does what was asked for, with the tools: open files, search, and run
commands with shell (checks, probes of your own; whatever a command writes is thrown away). Believe nothing that you
have not seen: not the tracker, not comments, not the names of tests.

Answer four questions with a score from 1 to 5 each, where 4 is the least that may pass. When you hesitate between two
scores, give the lower one: what is borderline fails.

- contract_fidelity: Is everything that the spec and the contract ask for there, and nothing that they rule out?
- functionality: Does it work, also at the edges: empty, wrong, large, repeated input, failure on the way?
- code_quality: Would you take it into this code base as it is: in its style, without leftovers, not more than needed?
- verification_integrity: Do the checks and tests show what they claim to, or were they made easy, skipped, or written
  around?

A finding is high when it must not be landed like this. Give the command of a probe that shows it (`command`): one that
fails now and passes when it is fixed; the runtime runs it and makes it a check of the next round.

Answer with JSON and nothing else. `high_severity_findings` is the number of findings with severity high:

{"verdict": "pass" or "fail", "summary": "…", "high_severity_findings": 0,
 "scorecard": {"contract_fidelity": 1, "functionality": 1, "code_quality": 1, "verification_integrity": 1},
 "findings": [{"severity": "high" or "medium" or "low", "title": "…", "detail": "…", "command": "…"}],
 "unmet_contract_items": ["…"], "residual_risks": ["…"], "required_tracker_updates": ["…"]}
"""


def planner_task(intent: str, found: Sequence[str]) -> str:
    """Return the planner's task; `found` are commands that the repository already has."""
    task = f"Plan this task:\n\n{intent.strip()}"
    if not found:
        return task
    return f"{task}\n\nCommands that this repository has already:\n\n" + "\n".join(f"- {one}" for one in found)


def change_request(request: str, plan: str) -> str:
    """Return a change request from a person; `plan` is the current plan, with its contract and baseline."""
    return (
        f"# The plan so far\n\n{plan.strip()}\n\n# What a person wants to change\n\n{request.strip()}\n\n"
        "Answer with the whole plan again, changed where that asks for it and nowhere else."
    )


def plan_issues(issues: Sequence[str]) -> str:
    listed = "\n".join(f"- {issue}" for issue in issues)
    return f"Your plan cannot be used as it is:\n\n{listed}\n\nAnswer with the whole plan again, as JSON."


def cannot_start(name: str, why: str) -> str:
    """Return the issue for a check whose program is missing; such a check says nothing about the work."""
    return (
        f"check '{name}' cannot start here: {why}. Where it is the work itself that is missing, let the check fail: "
        "test -e FILE && COMMAND"
    )


def all_green(names: Sequence[str]) -> str:
    """Return the issue for a contract that is green before any work."""
    return (
        f"every check passes already, before any work: {', '.join(names)}. Add at least one that fails now and passes "
        "when the task is done; if nothing is to be done, answer with the same plan again"
    )


def builder_task(intent: str, spec: str, tracker: str, how: str) -> str:
    """Return the builder's task."""
    rules = BUILDER.format(how=how)
    return f"{intent.strip()}\n\n{rules}\n# Spec\n\n{spec.strip()}\n\n# Tracker\n\n{tracker.strip()}"


@frozen(kw_only=True)
class EvaluatorInput:
    """What an evaluator is shown."""

    intent: str
    spec: str
    contract: str
    tracker: str
    results: str
    warnings: Sequence[str]
    earlier_findings: str
    """The findings of the previous evaluation."""
    patch: str


def evaluator_task(given: EvaluatorInput) -> str:
    """Return the evaluator's task."""
    parts = [
        f"Evaluate this work:\n\n{given.intent.strip()}",
        f"# Spec\n\n{given.spec.strip()}",
        f"# Contract\n\n{given.contract.strip()}",
        f"# Tracker, as the builder reports it\n\n{given.tracker.strip()}",
        f"# What the runtime found\n\n{given.results.strip()}",
    ]
    if given.warnings:
        parts.append("# Warnings\n\n" + "\n".join(f"- {one}" for one in given.warnings))
    if given.earlier_findings:
        title = "# Findings of the previous evaluation; check whether they are fixed"
        parts.append(f"{title}\n\n{given.earlier_findings.strip()}")
    parts.append(f"# The change\n\n{given.patch.strip() or '(nothing was changed)'}")
    return "\n\n".join(parts)


def evaluation_issues(issues: Sequence[str]) -> str:
    listed = "\n".join(f"- {issue}" for issue in issues)
    return f"Your evaluation cannot be used:\n\n{listed}\n\nAnswer with the whole evaluation again, as JSON."
