"""How the loops of a scheduler stand, for the person who watches: at first a line for each, then one for a change."""

from collections.abc import Mapping
from typing import Any

from donewhen.records import frozen
from donewhen.session.log.open_archive import Say


@frozen(kw_only=True)
class Standing:
    """How a loop stands at one look. The words are said if anything else is another than at the last look."""

    words: str
    entry: Mapping[str, Any]
    """The table as the file states it."""
    paused: str = ""
    waits: bool = False
    """True if its file must be repaired or accepted first."""


class Standings:
    def __init__(self, say: Say) -> None:
        self._say = say
        self._known: dict[str, dict[str, Standing]] = {}

    def look(self, repo: str, current: Mapping[str, Standing], is_complete: bool) -> None:
        """Say what is new. Unless `is_complete`, loops that are missing wait until their file can be read again."""
        known = self._known.get(repo)
        for name, standing in current.items():
            change = "" if known is None else _change(known.get(name), standing)
            if change is not None:
                self._say(f"loop {name}: {change}{standing.words}")
        missing = {name: old for name, old in (known or {}).items() if name not in current}
        if is_complete:
            for name in missing:
                self._say(f"loop {name}: removed")
            missing = {}
        waiting = {name: Standing(words="", entry=old.entry, waits=True) for name, old in missing.items()}
        self._known[repo] = {**current, **waiting}


def _change(old: Standing | None, new: Standing) -> str | None:
    """Return what became of a loop since the last look, to be said before the words; None if nothing did."""
    if old is None:
        return "added; "
    if old.entry != new.entry:
        return "changed; "
    if (old.paused, old.waits) == (new.paused, new.waits):
        return None
    return "resumed; " if old.paused and not new.paused and not new.waits else ""
