"""The tools of the native engine: one table, and one module per family.

    tool            the tool record, and the check of its input
    read_files      read_file, list_dir
    search_files    find_files, grep_files (`globs` matches the paths)
    write_files     write_file, edit_file (`nearest_text` explains a failed edit)
    shell           shell
    ask_and_report  ask_user, report_no_change, update_tracker
    clip            size limits for text that a model gets

Every failure is an answer that starts with `ERROR: `. No tool decides whether the work is done.
"""

from dataclasses import replace

from donewhen.engines.native.tools.ask_and_report import ASK_USER, REPORT_NO_CHANGE, UPDATE_TRACKER
from donewhen.engines.native.tools.clip import clean, clipped
from donewhen.engines.native.tools.read_files import LIST_DIR, READ_FILE
from donewhen.engines.native.tools.search_files import FIND_FILES, GREP_FILES
from donewhen.engines.native.tools.shell import PROBING_SHELL, SHELL
from donewhen.engines.native.tools.tool import ERROR, Effect, Tool, ToolContext, ToolFailed, ToolOutput, ToolUse
from donewhen.engines.native.tools.write_files import EDIT_FILE, WRITE_FILE
from donewhen.model.interface import Call
from donewhen.workspace.trees.overlay import FileProblem

__all__ = ["ERROR", "Effect", "Tool", "ToolContext", "ToolOutput", "effect_of", "offered_tools", "run_call"]

TABLE = {
    tool.name: tool
    for tool in (
        READ_FILE, LIST_DIR, FIND_FILES, GREP_FILES, WRITE_FILE, EDIT_FILE, SHELL, ASK_USER, REPORT_NO_CHANGE,
        UPDATE_TRACKER,
    )
}  # fmt: skip
READS = {name: tool for name, tool in TABLE.items() if tool.effect == "reads"}


def offered_tools(context: ToolContext) -> dict[str, Tool]:
    """Return the tools that the model is offered."""
    tools = _callable_tools(context)
    return {name: tool for name, tool in tools.items() if name != ASK_USER.name or context.asker is not None}


def _callable_tools(context: ToolContext) -> dict[str, Tool]:
    """Return the tools that can be called: they run, or answer why they cannot."""
    if context.reads_only:
        return READS if context.run_on_copy is None else {**READS, PROBING_SHELL.name: PROBING_SHELL}
    return {name: tool for name, tool in TABLE.items() if name != UPDATE_TRACKER.name or context.plan is not None}


def effect_of(call: Call, context: ToolContext) -> Effect:
    """Return what this call can do to the tree; a call that will not run does nothing."""
    known = _callable_tools(context)
    return known[call.name].effect if call.name in known and not call.problem else "talks"


async def run_call(call: Call, context: ToolContext) -> ToolOutput:
    """Run a call and return its size-limited output, also if it fails."""
    try:
        output = await _run(call, context)
    except (ToolFailed, FileProblem) as problem:
        output = ToolOutput(f"{ERROR}{problem}", ok=False, failed=True)
    return replace(output, text=clipped(clean(output.text)))


async def _run(call: Call, context: ToolContext) -> ToolOutput:
    if call.problem:
        raise ToolFailed(f"the call was not carried out: {call.problem}; make the whole call again")
    known = _callable_tools(context)
    if call.name not in known:
        raise ToolFailed(f"unknown tool {call.name[:80]}; use {', '.join(offered_tools(context))}")
    tool = known[call.name]
    return await tool.run(ToolUse(call.id, tool.checked_input(call.input), context))
