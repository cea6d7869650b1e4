"""The tools of the native engine: one table, one file per family.

    tool        what a tool is, and the check of its input      clip      bounds for what a model is given
    reading     read_file list_dir                              writing   write_file edit_file (nearest: what was meant)
    searching   find_files grep_files (globs)                   running   shell
    telling     ask_user report_no_change update_tracker

Any failure is an answer that starts with `ERROR: `. Whether the work is done is not decided by any of them.
"""

from dataclasses import replace

from donewhen.engines.native.tools.clip import clean, clipped
from donewhen.engines.native.tools.reading import LIST_DIR, READ_FILE
from donewhen.engines.native.tools.running import PROBING_SHELL, SHELL
from donewhen.engines.native.tools.searching import FIND_FILES, GREP_FILES
from donewhen.engines.native.tools.telling import ASK_USER, REPORT_NO_CHANGE, UPDATE_TRACKER
from donewhen.engines.native.tools.tool import ERROR, Effect, Outcome, Tool, ToolFailed, Use, Workbench
from donewhen.engines.native.tools.writing import EDIT_FILE, WRITE_FILE
from donewhen.model.base import Call
from donewhen.workspace.merged import FileProblem

__all__ = ["ERROR", "Effect", "Outcome", "Tool", "Workbench", "carry_out", "effect_of", "offered"]

TABLE = {
    tool.name: tool
    for tool in (
        READ_FILE, LIST_DIR, FIND_FILES, GREP_FILES, WRITE_FILE, EDIT_FILE, SHELL, ASK_USER, REPORT_NO_CHANGE,
        UPDATE_TRACKER,
    )
}  # fmt: skip
READS = {name: tool for name, tool in TABLE.items() if tool.effect == "reads"}


def offered(bench: Workbench) -> dict[str, Tool]:
    """The tools that a model is told about."""
    return {name: tool for name, tool in _known(bench).items() if name != ASK_USER.name or bench.asker is not None}


def _known(bench: Workbench) -> dict[str, Tool]:
    """Those that are carried out, or answer why not."""
    if bench.reads_only:
        return READS if bench.probe is None else {**READS, PROBING_SHELL.name: PROBING_SHELL}
    return {name: tool for name, tool in TABLE.items() if name != UPDATE_TRACKER.name or bench.planned is not None}


def effect_of(call: Call, bench: Workbench) -> Effect:
    """What carrying out this call can do to the tree; what is not carried out does nothing."""
    known = _known(bench)
    return known[call.name].effect if call.name in known and not call.problem else "talks"


async def carry_out(call: Call, bench: Workbench) -> Outcome:
    """What a call gave, in bounds, whatever happened."""
    try:
        outcome = await _carried_out(call, bench)
    except (ToolFailed, FileProblem) as problem:
        outcome = Outcome(f"{ERROR}{problem}", ok=False, failed=True)
    return replace(outcome, text=clipped(clean(outcome.text)))


async def _carried_out(call: Call, bench: Workbench) -> Outcome:
    if call.problem:
        raise ToolFailed(f"the call was not carried out: {call.problem}; make the whole call again")
    known = _known(bench)
    if call.name not in known:
        raise ToolFailed(f"there is no tool {call.name[:80]}; there are {', '.join(offered(bench))}")
    tool = known[call.name]
    return await tool.run(Use(call.id, tool.checked(call.input), bench))
