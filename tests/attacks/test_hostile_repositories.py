"""A repository that comes with its own `.git` reaches no file of its user, as root and as an ordinary user.

The kernel reports every file of the user that is opened or written. With the defences off the same repositories do
reach such files.
"""

import json
import os
from collections.abc import Callable
from typing import Any

from attackers import run_as_every_user

from needs import needs
from tiers import RARE


def wrong(row: dict[str, Any]) -> str:
    """Return what is wrong with one result; empty if it is as expected."""
    if not row["defended"]:
        return "" if row["events"] or row["leaked"] else "the attack does nothing even without the defences"
    if row["events"] or row["leaked"] or row["traceback"]:
        return f"got out: {row['events']}, shown: {row['leaked']}, traceback: {row['traceback']}"
    if row["names"]:
        is_named = len(row["landing_said"]) == 1 and row["names"] in row["landing_said"][0]
        is_refused = (row["code"], row["landed"]) == (0, [1])
        return "" if is_named and is_refused else "the landing was not refused in one line with the path"
    if row["ends"] is None:
        return "" if row["code"] == row["refusal"] and len(row["said"]) == 1 else "it was not refused in one line"
    if row["code"] != row["ends"] or row["landed"] not in ([], [row["lands_with"]]):
        return f"it ended with {row['code']}, its landing with {row['landed']}"
    return "" if row["applied"] or not row["applies"] else "the work is not in the files of the checkout"


def test_no_hostile_repository_reaches_its_user_as_root_or_as_an_ordinary_user(
    show_table: Callable[[str], None],
) -> None:
    for program in ("bwrap", "git"):
        needs(program)
    printed = run_as_every_user("hostile_repositories.py", str(RARE))
    rows: list[tuple[str, dict[str, Any]]] = [(user, row) for user, out in printed.items() for row in json.loads(out)]
    faults = [f"{user}: {row['attack']}: {why}\n{row}" for user, row in rows if (why := wrong(row))]
    attacks = {row["attack"] for _, row in rows}
    users_seen = {user for user, _ in rows}
    show_table(f"hostile repositories: {len(attacks)} attacks, {len(users_seen)} users, {len(rows)} runs")
    assert not faults, "\n".join(faults)
    if os.geteuid() == 0:
        assert len(users_seen) == 2
    assert len(attacks) >= 40 // RARE
