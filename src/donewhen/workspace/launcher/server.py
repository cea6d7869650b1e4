"""The launcher's main loop: one message is one command to start; the end of the stream is the end of the program.

A message carries its descriptors: the specification (JSON in a memory file), stdin, stdout, stderr, the warden's
control socket, then whatever the command itself needs. The server answers nothing: the warden does.
"""

import gc
import json
import os
import signal
import socket

from donewhen.workspace.launcher import warden

MESSAGE_BYTES = 64
DESCRIPTORS = 64


def serve(descriptor: int) -> None:
    requests = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # wardens report to the harness; nobody waits for them here
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)  # the harness decides when the launcher ends, by closing the socket
    gc.freeze()
    while True:
        message, fds, _, _ = socket.recv_fds(requests, MESSAGE_BYTES, DESCRIPTORS)
        if not message:
            return
        if os.fork() == 0:
            requests.close()
            _guard(fds)
        for fd in fds:
            os.close(fd)


def _guard(fds: list[int]) -> None:
    """Become the warden of one command. Never returns: a warden must not fall back into the server's loop."""
    specification, *rest = fds
    try:
        with os.fdopen(specification, "rb") as file:
            spec = json.loads(file.read())
        warden.Warden(spec, rest).guard()
    finally:
        os._exit(0)
