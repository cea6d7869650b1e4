"""The command of an action that a Python program carries out: hands it over to that program and waits for its answer.

It runs in a checkout of the approved work, with the facts on stdin, as `python -I -S bridge.py SOCKET SESSION LOOP`.
Standard library only.
"""

import json
import os
import socket
import sys

ENDED = {"ok": False, "text": "the program that states this loop has ended before the action had"}


def main() -> int:
    """Return 0 if the action was carried out."""
    directory, name = os.path.split(sys.argv[1])
    told = {**json.load(sys.stdin), "directory": os.getcwd()}
    with socket.socket(socket.AF_UNIX) as line:
        try:
            above = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            line.connect(f"/proc/self/fd/{above}/{name}")  # a socket address is short, and a path may be long
        except OSError:
            sys.stdout.write("the program that states this loop does not run\n")
            return 1
        line.sendall(json.dumps(told).encode() + b"\n")
        with line.makefile("rb") as answers:
            answer = json.loads(answers.readline() or json.dumps(ENDED))
    sys.stdout.write(f"{answer['text']}\n")
    return 0 if answer["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
