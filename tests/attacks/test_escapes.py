"""No attack escapes the sandbox: each runs without isolation, where it must succeed, and at every isolation level.

The attacks run in a separate program (`arms`): once as the current user and, if that is root, a second time as an
ordinary user made for it. The table of all results is printed at the end.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from attackers import run_as_every_user
from probes import ATTACKS

from needs import needs
from tiers import RARE

BEHIND_BUBBLEWRAP = ("overlay", "plain")
NOT_HELD_BY_LANDLOCK = {
    "chmod outside",
    "chmod of a private file",
    "the time of a file outside",
    "the arguments of a process outside",
    "the arguments of all processes in sight",
    "the limits of a process outside in /proc",
    "the numbers of queues",
}
"""Also named in docs/sandbox.md."""
NAMES_OF_WALLS = {"overlay": "bubblewrap, layered tree", "plain": "bubblewrap, plain tree", "landlock": "landlock"}


def rows_of(output: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(output)
    order = [(attack.id, attack.name) for attack in ATTACKS]
    return sorted(rows, key=lambda row: order.index((row["id"], row["name"])))


# -- the table --


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    columns = [f"{user}: {column}" for user in found for column in ("none", "bubblewrap", "landlock")]
    lines = [f"{'id':<5}{'attack':<60}{''.join(f'{column:<18}' for column in columns)}"]
    for rows in zip(*found.values(), strict=True):
        cells = [f"{cell:<18}" for row in rows for cell in cells_of(row)]
        lines.append(f"{rows[0]['id']:<5}{rows[0]['name']:<60}{''.join(cells)}".rstrip())
    for user, rows in found.items():
        lines += ["", *summary(user, rows)]
    return "\n".join(lines)


def cells_of(row: dict[str, Any]) -> tuple[str, str, str]:
    if not row["control"]:
        return "does not run", "", ""
    return "out", cell(row, BEHIND_BUBBLEWRAP), cell(row, ("landlock",))


def cell(row: dict[str, Any], walls: tuple[str, ...]) -> str:
    tried = [row["walls"][wall] for wall in walls if wall in row["walls"]]
    return ("OUT" if any(tried) else "held") if tried else ""


def summary(user: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    ran = [row for row in rows if row["control"]]
    yield f"as {user}: {len(ran)} of {len(rows)} attacks run here; without a wall all of those get out"
    for wall, name in NAMES_OF_WALLS.items():
        tried = [row for row in ran if wall in row["walls"]]
        yield f"as {user}, {name}: {len(escapes(ran, wall))} of {len(tried)} get out"
    for row in rows:
        if not row["control"]:
            yield f"as {user}, does not run here: {row['id']} {row['name']} ({row['reason'][:70]})"


def escapes(rows: list[dict[str, Any]], wall: str) -> list[str]:
    return [f"{row['id']} {row['name']}: {row['walls'][wall]}" for row in rows if row["walls"].get(wall)]


def test_no_attack_escapes_bubblewrap_and_only_known_ones_escape_landlock_for_both_users(
    show_table: Callable[[str], None],
) -> None:
    for program in ("bwrap", "unshare", "setpriv"):
        needs(program)
    found = {user: rows_of(output) for user, output in run_as_every_user("arms.py", str(RARE)).items()}
    show_table(table(found))
    for rows in found.values():
        ran = [row for row in rows if row["control"]]
        assert len(ran) >= 55 // RARE
        assert all(set(row["walls"]) & set(BEHIND_BUBBLEWRAP) for row in ran)
        assert [escapes(ran, wall) for wall in BEHIND_BUBBLEWRAP] == [[], []]
        assert {row["name"] for row in ran if row["walls"].get("landlock")} <= NOT_HELD_BY_LANDLOCK


def test_every_attack_has_a_unique_name_and_stays_on_this_machine() -> None:
    names = [(attack.id, attack.name) for attack in ATTACKS]
    assert len(set(names)) == len(names)
    programs = "\n".join(attack.program for attack in ATTACKS)
    assert "://" not in programs.replace("http://127.0.0.1", "")
