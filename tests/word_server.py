"""A server that gives each caller the next word: what a check can ask so that two runs of it differ, on purpose."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress


@contextmanager
def answering(*words: str) -> Generator[int]:
    """The port that it listens on, for as long as the block lasts."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for word in words:
                with suppress(OSError):  # a caller that hung up, or nobody who called before the end of the block
                    caller, _ = server.accept()
                    with caller:
                        caller.sendall(word.encode())

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
