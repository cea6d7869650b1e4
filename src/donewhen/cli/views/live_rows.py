"""Rows of the live view, built from its state for a terminal of any size. This module does not draw.

The most important row is last, and less important rows are left out first. In order of importance: current activity,
cost, checks, subtasks, round and engine, headline. The latest lines fill the space that is left. Only a verified
session is shown in green, so no row here is green.
"""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from donewhen.cli.group import one_line
from donewhen.cli.views.check_states import CheckState
from donewhen.cli.views.event_lines import MARKS
from donewhen.cli.views.live_state import LiveState
from donewhen.cli.views.subtask_states import (
    ACCEPTED,
    APPLIED,
    AT_WORK,
    CHECKED,
    WAITS,
    SubtaskState,
    SubtaskStates,
    by_importance,
)
from donewhen.engines.spec import EngineKind

MOST_ROWS = 12
ROWS_OF_CHECKS = 3
ROWS_OF_SUBTASKS = 4
MOST_OF_A_SUBTASK = 44
"""Maximum columns of one subtask, so that several fit in a row."""
SUBTASK_MARKS = {WAITS: "·", AT_WORK: "▸", CHECKED: "◌", ACCEPTED: "✓", APPLIED: "✓", "inconclusive": "?"}
NARROW = 60
COLOURS = {"pass": "bold", "flaky": "yellow", "vacuous": "yellow"}


def rows(state: LiveState, width: int, height: int, now: float) -> list[Text]:
    """Return the rows: few enough to keep part of the scrollback visible, and none wider than the terminal."""
    space = max(1, min(MOST_ROWS, height - 2))
    now_row = [_activity_row(state, now)]
    cost = [_cost(state, now)]
    every_check = [_check(check, now) for check in state.checks.all.values()]
    checks = _pack(every_check, width, ROWS_OF_CHECKS)
    subtasks = _subtasks(state.subtasks, width, ROWS_OF_SUBTASKS, now)
    found = [[_headline(state, width)], [_who(state, width)], subtasks, checks, cost, now_row]
    while sum(map(len, found)) > space:
        if len(subtasks) > 1:
            subtasks[:] = _subtasks(state.subtasks, width, len(subtasks) - 1, now)
        elif len(checks) > 1:
            checks[:] = _pack(every_check, width, len(checks) - 1)
        else:
            next(part for part in found if part).pop()
    spare = space - sum(map(len, found))
    found.insert(4, _latest(state, spare))
    return [_cut(row, width) for part in found for row in part]


def money(usd: float | None) -> str:
    if usd is None:
        return "—"
    return f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}"


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _headline(state: LiveState, width: int) -> Text:
    name = one_line(f"{state.session} {state.intent}".strip() or "donewhen")
    line = Text().append("── ", "dim").append(name, "bold").append(" ")
    return line.append("─" * max(0, width - cell_len(line.plain) - 1), "dim")


def _who(state: LiveState, width: int) -> Text:
    model = state.model if width >= NARROW and not state.agent else ""
    agent = f"{state.engine} with {state.agent}" if state.agent and state.engine == EngineKind.FOREMAN else state.agent
    worker = " on ".join(filter(None, [agent or state.engine, model])) or "no engine yet"
    of = f"round {state.round.n} of {state.round.most}" if state.round.n else ""
    return Text(one_line(" · ".join(filter(None, [of, worker]))))


def _cost(state: LiveState, now: float) -> Text:
    cost = "free" if state.usd is None and state.is_free else money(state.usd)
    return Text(f"{state.tokens:,} tokens · {cost} · {clock(now - state.began)}", "dim")


def _activity_row(state: LiveState, now: float) -> Text:
    what, since = state.now_doing()
    seconds = int(now - since)
    row = Text(f"{clock(seconds)} " if seconds else "", "bold cyan")
    return row.append(one_line(what), "bold cyan")


def _check(check: CheckState, now: float) -> Text:
    if check.phase:
        seconds = int(now - check.since)
        return Text(one_line(f"▸ {check.name}") + (f" {clock(seconds)}" if seconds else ""), "cyan")
    if not check.status:
        return Text(one_line(f"· {check.name}"), "dim")
    mark = Text().append(MARKS.get(check.status, "?"), COLOURS.get(check.status, "red"))
    word = "" if check.status in ("pass", "fail") else f" {check.status}"
    return mark.append(one_line(f" {check.name}{word} {check.duration_ms / 1000:.1f} s"))


def _subtasks(known: SubtaskStates, width: int, most: int, now: float) -> list[Text]:
    """Return rows of subtasks in the order of the plan if all fit; otherwise the most important first."""
    if not known.is_open:
        return []
    parts = [_subtask(one, width, now) for one in known.all.values()]
    if len(_pack(parts, width, len(parts))) > most:
        parts = [_subtask(one, width, now) for one in by_importance(known.all.values())]
    return _pack(parts, width, most)


def _subtask(one: SubtaskState, width: int, now: float) -> Text:
    """Return one subtask: `▸ a 0:12 edit_file a.py`, `◌ c 0:03 checked by tests`, `✗ e rejected: why`."""
    mark, seconds = SUBTASK_MARKS.get(one.state, "✗"), int(now - one.since)
    time = clock(seconds) if one.is_active and seconds > 0 else ""
    state = "" if one.state == AT_WORK else one.state
    by = "by " if one.state == CHECKED and one.doing else ""
    words = " ".join(filter(None, (one.id, time, state))) + (f": {one.why}" if one.why else "")
    text = one_line(f" {words} {by}{one.doing}".rstrip())
    shade = "cyan" if one.is_active else "dim" if one.state == WAITS else ""
    marked = "bold" if one.state in (ACCEPTED, APPLIED) else shade or ("yellow" if mark == "?" else "red")
    part = Text().append(mark, marked).append(text, shade)
    part.truncate(max(1, min(MOST_OF_A_SUBTASK, width - 1)), overflow="ellipsis")
    return part


def _pack(parts: Sequence[Text], width: int, most: int) -> list[Text]:
    """Put as many parts in a row as fit; replace the parts that do not fit at all by their number."""
    packed: list[Text] = []
    for number, part in enumerate(parts):
        fits = packed and cell_len(packed[-1].plain) + cell_len(part.plain) + 3 < width
        if fits:
            packed[-1].append("   ").append_text(part)
        elif len(packed) < most:
            packed.append(part.copy())
        else:
            more = f" … {len(parts) - number} more"
            packed[-1].truncate(max(0, width - 1 - len(more)))
            packed[-1].append(more, "dim")
            break
    return packed


def _latest(state: LiveState, spare: int) -> list[Text]:
    lines = [*state.latest, *(line for line in state.partial.splitlines() if line.strip())]
    return [Text(one_line(line.expandtabs(4)), "dim") for line in lines[-spare:]] if spare else []


def _cut(row: Text, width: int) -> Text:
    """Cut a row and leave one column free: after a full row the cursor position is not defined."""
    row.truncate(max(1, width - 1), overflow="ellipsis")
    return row
