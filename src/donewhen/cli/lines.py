"""Events as lines of JSON on stdout, each flushed at once, with sequence, time and session."""

import datetime
import json
import secrets
import sys

from donewhen.events import Event
from donewhen.printable import escaped


def json_text(value: object) -> str:
    """JSON for stdout: what its encoding lacks, what a terminal obeys and what some readers take for the end of a line
    is escaped as JSON escapes it."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not is_utf8).encode("utf-8", "replace").decode()
    return escaped(text, lambda char: json.dumps(char)[1:-1])


class Lines:
    """A place to emit to."""

    def __init__(self) -> None:
        self.session = secrets.token_hex(6)
        self._seq = 0

    def emit(self, event: Event) -> None:
        self._seq += 1
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"seq": self._seq, "at": now, "session": self.session, "type": event.type(), **event.fields()}
        sys.stdout.write(json_text(line) + "\n")
        sys.stdout.flush()
