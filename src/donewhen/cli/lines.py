"""Events as lines of JSON on stdout, each flushed at once, with sequence, time and session."""

import datetime
import json
import re
import secrets
import sys

from donewhen.events import Event

LINE_ENDS = re.compile("[\x85\u2028\u2029]")
"""What JSON need not escape, and some readers of lines take for the end of one."""


def json_text(value: object) -> str:
    """JSON that stdout takes as it is: what its encoding lacks is escaped as JSON escapes it, and not by the stream."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not is_utf8).encode("utf-8", "replace").decode()
    return LINE_ENDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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
