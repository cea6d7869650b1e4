"""Tools for communication with people: `ask_user`, `report_no_change` and `update_tracker`.

`report_no_change` makes a claim, and other code decides about it. `update_tracker` reports the states of plan items,
and other code checks whether they are true.
"""

from typing import Any, cast

from donewhen.engines.interface import AnswerTimeout, NoChange, NoSuchItem
from donewhen.engines.native.tools.tool import Parameter, Tool, ToolFailed, ToolOutput, ToolUse

STATES = ("pending", "in_progress", "completed", "blocked")
KINDS = ("premise_wrong", "deliberate_behavior", "non_code_decision")


async def ask_user(use: ToolUse) -> ToolOutput:
    if use.context.asker is None:
        raise ToolFailed("no person is available; decide yourself and state your assumption")
    try:
        return ToolOutput(await use.context.asker.ask(use.id, use.text("prompt")) or "[the answer was empty]")
    except AnswerTimeout:
        raise ToolFailed("no answer in time; continue without an answer and state your assumption") from None


async def report_no_change(use: ToolUse) -> ToolOutput:
    if not await use.context.maker.is_unchanged():
        raise ToolFailed("files have been changed; undo every change first, or finish the work")
    claim = NoChange(cast(Any, use.text("kind")), use.text("summary"), use.text("evidence"))
    return ToolOutput("recorded; the round ends here", claim=claim)


async def update_tracker(use: ToolUse) -> ToolOutput:
    assert use.context.plan is not None  # otherwise the tool is not offered
    try:
        return ToolOutput(use.context.plan.update(use.text("item"), use.text("state"), use.text("note")))
    except NoSuchItem as none:
        raise ToolFailed(f"update_tracker: {none}") from none


ASK_USER = Tool(
    "ask_user",
    "Ask the person a question and wait. Only for what a person alone can give: a decision, a missing fact, consent to"
    " something destructive.",
    (Parameter("prompt", "string", "The question, with everything needed to answer it.", not_blank=True),),
    "talks",
    ask_user,
)
REPORT_NO_CHANGE = Tool(
    "report_no_change",
    (
        "End the work with the claim that nothing should change: the task rests on a wrong "
        "premise, the behaviour is intended, or it is a decision that code cannot make. Only "
        "while no file is changed."
    ),
    (
        Parameter("kind", "string", "Why nothing should change.", choices=KINDS),
        Parameter("summary", "string", "The claim in a few sentences.", not_blank=True),
        Parameter("evidence", "string", "The evidence: files, lines, output.", not_blank=True),
    ),
    "talks",
    report_no_change,
)
UPDATE_TRACKER = Tool(
    "update_tracker",
    (
        "Report the state of a plan item. The runtime runs its verify commands itself; a state "
        "without evidence in the files is useless."
    ),
    (
        Parameter("item", "string", "Its number in the tracker.", not_blank=True, accepts_integer=True),
        Parameter("state", "string", "How far it is.", choices=STATES),
        Parameter("note", "string", "What the next person or model that works on it should know.", required=False),
    ),
    "talks",
    update_tracker,
)
