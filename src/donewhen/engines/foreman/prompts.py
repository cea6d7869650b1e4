"""Prompts for the planner and the workers. Text only."""

from collections.abc import Sequence

from donewhen.engines.foreman.subtask_plan import WHOLE_FILE, Subtask

PLANNER = """\
You are the foreman of several software engineers. You do not change anything yourself: you split one task into
subtasks that they work on at the same time, each alone in a copy of the repository, without talking to each other.
Look at the repository with the tools until you know which files and symbols the task is about, then answer.

- A subtask is done by a worker who knows only its prompt, the task and the files. Say in the prompt all that matters.
- `files` and `writes` are what the subtask may write, and nothing else: a patch that changes anything outside of them
  is thrown away. Name tests, documents and settings that go with the change as well, and new files too.
- A write with a symbol allows this function, class, method or constant, and new ones beside it. A write of a whole file
  has the symbol "*".
- No two subtasks may write the same symbol, nor one of them a whole file in which another writes.
- `reads` are symbols and files that the subtask relies on. One that reads what another writes waits for it.
- Fewer and larger subtasks are better than many small ones. A task that one engineer does best alone is one subtask.

Answer with JSON and nothing else:

{"subtasks": [{"id": "short-name", "prompt": "what to do", "files": ["path"],
  "writes": [{"file": "path", "symbol": "name"}], "reads": [{"file": "path", "symbol": "name"}]}]}
"""
TOGETHER = """\
This is one part of a larger task. Others work on the other parts at the same time, in copies of their own; what all of
you made is combined afterwards. The contract is about the whole: your part need not make all of it pass, but no
check that passes now may fail because of it.
"""


def planning_prompt(intent: str, change_request: str) -> str:
    change = (
        f"\n\n# What a person wants to change in the plan\n\n{change_request.strip()}" if change_request.strip() else ""
    )
    return f"Split this task into subtasks:\n\n{intent.strip()}{change}"


def unsound_prompt(issues: Sequence[str]) -> str:
    listed = "\n".join(f"- {issue}" for issue in issues)
    return f"Your plan cannot be used:\n\n{listed}\n\nAnswer with the whole plan again, as JSON."


def worker_prompt(intent: str, subtask: Subtask, evidence: str) -> str:
    """Return the task of one worker, with what came of earlier attempts."""
    parts = [
        f"{subtask.prompt}\n\n{evidence}\n\n{TOGETHER}" if evidence else f"{subtask.prompt}\n\n{TOGETHER}",
        f"You may write these and nothing else:\n\n{_allowed(subtask)}",
    ]
    if subtask.reads:
        parts.append("It relies on:\n\n" + "\n".join(f"- {place}" for place in subtask.reads))
    parts.append(f"The larger task, so that you know what your part is for:\n\n{intent.strip()}")
    return "\n\n".join(parts)


def _allowed(subtask: Subtask) -> str:
    lines: list[str] = []
    for file in subtask.files:
        symbols = [place.symbol for place in subtask.writes if place.file == file]
        only = f": {', '.join(symbols)}, and new symbols" if symbols and WHOLE_FILE not in symbols else ""
        lines.append(f"- {file}{only}")
    return "\n".join(lines)


def failed_attempt(problem: str) -> str:
    return f"An earlier attempt at this failed: {problem}. You start from a clean copy."


def left_out_evidence(why: str, diff: str) -> str:
    """Return the evidence for a subtask that is retried on top of the others' work."""
    evidence = f"\n\nThe patch of that attempt, which is not in the files now:\n\n```diff\n{diff}\n```" if diff else ""
    return (
        "You made a patch for this before, and it was left out. The files now have the accepted work of the others. "
        f"Do it again so that it fits.\n\nWhy it was left out: {why}{evidence}"
    )
