"""The launcher's main loop: one message is one more warden; the end of the stream is the end of the program.

A message carries the warden's end of its own socket to the harness; from then on the two talk without the server.
Wardens serve one command after the other, so that starting a command waits for no fork of this program.
"""

import gc
import os
import signal
import socket

from donewhen.workspace.launcher import warden


def serve(descriptor: int) -> None:
    requests = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # wardens report to the harness; nobody waits for them here
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)  # the harness decides when the launcher ends, by closing the socket
    gc.disable()
    gc.freeze()
    while True:
        message, fds, _, _ = socket.recv_fds(requests, 1, 1)
        if not message:
            return
        if os.fork() == 0:
            try:
                requests.close()
                warden.serve(socket.socket(fileno=fds[0]))
            finally:
                os._exit(0)  # a warden must never fall back into the server's loop
        os.close(fds[0])
