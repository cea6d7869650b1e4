"""Time zones: the one with a given name, or the machine's own."""

import os
from pathlib import Path
from zoneinfo import ZoneInfo

from donewhen.errors import BadInput
from donewhen.printable import shortened

LOCAL = Path("/etc/localtime")
ZONES = "/zoneinfo/"
LONGEST_NAME = 100


def zone_named(name: str, key: str = "timezone") -> ZoneInfo:
    """Return a zone such as Europe/Berlin. Raise BadInput, with the key, for another text."""
    try:
        if not name or len(name) > LONGEST_NAME or name.startswith(("/", ".")):
            raise ValueError
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        raise BadInput(f"'{key}' must be a time zone such as \"Europe/Berlin\", not {shortened(name)!r}") from error


def machine_zone(local: Path = LOCAL) -> ZoneInfo:
    """Return the zone of TZ, or of the machine; UTC if neither is known."""
    named = os.environ.get("TZ", "").removeprefix(":")
    candidates = [named] if named else []
    target = os.path.realpath(local)
    if ZONES in target:
        candidates.append(target.partition(ZONES)[2])
    for name in candidates:
        try:
            return zone_named(name)
        except BadInput:
            continue
    try:
        with local.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):
        return ZoneInfo("UTC")
