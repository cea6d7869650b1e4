"""An agent driven by its command line: started with the task, heard through what it prints, judged by neither.

The stream is read as it comes; an agent that says that it has finished and lingers is ended. Exit codes are reported
and mean nothing more.
"""

import shlex
from collections.abc import Iterable

import anyio

from donewhen.engines.external import streams
from donewhen.engines.external.agent import Report, Task
from donewhen.engines.external.happening import Complained, Happening, Hear, Raw, Stopped
from donewhen.engines.external.lines import Lines, Text, Value
from donewhen.records import frozen
from donewhen.workspace.command import End, Finished
from donewhen.workspace.sandbox.room import Sandbox, ShellCommand

LINGER_SECS = 2.0
"""How long an agent that has finished may take to leave."""
MOST_LINES = 500_000
"""An agent that prints more than this prints without end."""
COULD_NOT_START = (126, 127)


@frozen
class CliAgent:
    room: Sandbox
    argv: tuple[str, ...]
    shape: str
    timeout_secs: float

    async def work(self, task: Task, hear: Hear) -> Report:
        del task  # its text is among the words already
        reader, lines = streams.reader(self.shape), Lines()
        finished: Finished | None = None
        count = 0
        with anyio.CancelScope() as leaving:

            def told(happenings: Iterable[Happening]) -> None:
                for one in happenings:
                    hear(one)
                    if isinstance(one, Stopped):
                        leaving.deadline = min(leaving.deadline, anyio.current_time() + LINGER_SECS)

            def take(read: Iterable[Value | Text]) -> None:
                nonlocal count
                for line in read:
                    count += 1
                    if count > MOST_LINES:
                        return
                    hear(Raw(line.value if isinstance(line, Value) else line.text))
                    told(reader.value(line.value) if isinstance(line, Value) else reader.text(line.text))

            def listen(chunk: bytes) -> None:
                if count <= MOST_LINES:
                    take(lines.feed(chunk))
                if count > MOST_LINES:
                    leaving.cancel()

            command = ShellCommand(
                text=f"exec {shlex.join(self.argv)}", timeout_secs=self.timeout_secs, merge_stderr=False
            )
            finished = await self.room.run(command, stdout=listen)
            take(lines.end())
            told(reader.end(finished.exit_code, last_words(finished)))
        if count > MOST_LINES:
            hear(Complained("agent", f"it printed more than {MOST_LINES} lines, and was ended"))
        return report_of(finished)


def report_of(finished: Finished | None) -> Report:
    """How a program ended that was run to its end, or was ended because it had nothing more to do."""
    if finished is None:
        return Report(end="stopped")
    code, words = finished.exit_code, last_words(finished)
    match finished.end:
        case End.EXITED if code in COULD_NOT_START:
            return Report(end="not_started", exit_code=code, detail=words)
        case End.EXITED:
            return Report(end="exited", exit_code=code, detail=words)
        case End.TIMED_OUT:
            return Report(end="timed_out", detail=words)
        case End.COULD_NOT_START:
            return Report(end="not_started", detail=finished.reason)
        case End.SIGNALLED:
            return Report(end="died", exit_code=code, detail=f"killed by signal {finished.signal}")
        case End.LIMIT:
            return Report(end="died", exit_code=code, detail=f"it broke a limit: {finished.reason}")


def last_words(finished: Finished) -> str:
    """The last line it wrote to stderr."""
    lines = (finished.stderr.head + finished.stderr.tail).decode("utf-8", "replace").split("\n")
    return next((line.strip()[:400] for line in reversed(lines) if line.strip()), "")
