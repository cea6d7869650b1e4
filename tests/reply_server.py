"""A server that sends each caller the next word, so that two runs of a check can differ on purpose."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress


@contextmanager
def serve_replies(*words: str) -> Generator[int]:
    """Start the server for the time of the block, and return its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for word in words:
                with suppress(OSError):  # the caller hung up, or none called before the end of the block
                    caller, _ = server.accept()
                    with caller:
                        caller.sendall(word.encode())

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
