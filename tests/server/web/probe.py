"""Tries to reach the daemon as a program that it must not serve. It prints what it could do, as JSON.

    python3 probe.py PORT DIRECTORY

Standard library only: other users and sandboxes run it with the Python of the system.
"""

import json
import os
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Callable


def status(port: str, token: str = "") -> str:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.approve", "params": {"id": "one"}}).encode()
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/rpc", body, headers)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as response:
            return str(response.status)
    except urllib.error.HTTPError as error:
        error.close()
        return str(error.code)


def token(directory: str) -> str:
    with open(f"{directory}/decide_token") as file:
        return file.read().strip()


def names(directory: str) -> str:
    return " ".join(sorted(os.listdir(directory)))


def connect(directory: str) -> str:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(f"{directory}/rpc.sock")
    return "connected"


def tried(attempt: Callable[[], str]) -> str:
    try:
        return attempt()
    except OSError as error:
        return type(error).__name__


def main(port: str, directory: str) -> None:
    found = {
        "the port": tried(lambda: status(port)),
        "the names": tried(lambda: names(directory)),
        "the token": tried(lambda: "read" if token(directory) else "empty"),
        "a decision": tried(lambda: status(port, token(directory))),
        "the socket": tried(lambda: connect(directory)),
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
