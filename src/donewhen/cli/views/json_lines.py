"""Events as JSON lines on stdout, each flushed at once, with sequence number, time and session."""

import datetime
import json
import os
import sys

from donewhen.events import Event
from donewhen.printable import escaped


def json_text(value: object) -> str:
    """Return JSON for stdout. JSON escapes replace three kinds of characters.

    These are: characters that the encoding of stdout lacks, terminal controls, and characters that some readers treat
    as line ends.
    """
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not is_utf8).encode("utf-8", "replace").decode()
    return escaped(text, lambda char: json.dumps(char)[1:-1])


class JsonLines:
    """Writes events to stdout; `emit` can be passed as an `Emit` callback."""

    def __init__(self) -> None:
        self.session = os.urandom(6).hex()
        self._seq = 0

    def emit(self, event: Event) -> None:
        self._seq += 1
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"seq": self._seq, "at": now, "session": self.session, "type": event.type(), **event.fields()}
        sys.stdout.write(json_text(line) + "\n")
        sys.stdout.flush()
