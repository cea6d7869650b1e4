"""Events as lines of JSON on stdout, each flushed at once, with sequence, time and session."""

import datetime
import json
import secrets
import sys

from donewhen.events import Event


def json_text(value: object) -> str:
    """JSON that stdout takes as it is: what its encoding lacks is escaped as JSON escapes it, and not by the stream."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return json.dumps(value, ensure_ascii=not is_utf8).encode("utf-8", "replace").decode()


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
