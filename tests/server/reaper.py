"""Starts a program, adopts every process that it leaves behind, and kills what is there at the end.

    python reaper.py COMMAND...

Standard input takes a line for each question, and standard output has one line of JSON for each answer: `{"pid": …}` at
the start, `{"ended": CODE}` when the program has ended, and `{"left": […]}` with the living processes. The end of the
input ends everything. Only the standard library is used, so that it starts quickly.
"""

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, ignored)
    program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=sys.stderr)
    tell({"pid": program.pid})
    with selectors.DefaultSelector() as selector:
        selector.register(woken, selectors.EVENT_READ)
        selector.register(0, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                data = os.read(key.fd, 4096)
                if key.fd == woken:
                    reap(program.pid)
                elif data:
                    tell({"left": described(os.getpid())})
                else:
                    kill_all()
                    os._exit(0)


def ignored(number: int, frame: object) -> None:
    """Let the signal wake the loop, and do nothing else."""
    del number, frame


def tell(answer: object) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(answer).encode() + b"\n")


def reap(program: int) -> None:
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == program:
                tell({"ended": os.waitstatus_to_exitcode(found[1])})


def below(pid: int) -> list[int]:
    """Return the living processes below a process, the nearest first."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                for child in map(int, file.read().split()):
                    found += [child, *below(child)]
    return found


def described(pid: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for one in below(pid):
        with contextlib.suppress(OSError):
            with open(f"/proc/{one}/stat", "rb") as stat, open(f"/proc/{one}/cmdline", "rb") as command:
                if stat.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X"):
                    found.append((one, command.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()))
    return found


def kill_all() -> None:
    while found := described(os.getpid()):
        for pid, _ in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        reap(0)


if __name__ == "__main__":
    main()
