"""Git's own server, `git http-backend`, for one request: environment in, status, header fields and body out."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from needs import needs


def backend(
    root: Path, method: str, path: str, query: str, fields: Mapping[str, str], body: bytes
) -> tuple[int, dict[str, str], bytes]:
    """Answer a request for a repository below `root`. The caller has checked who asks."""
    given = {name.lower(): value for name, value in fields.items()}
    ran = subprocess.run(
        [needs("git"), "http-backend"],
        input=body,
        capture_output=True,
        check=False,
        env={
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_PROJECT_ROOT": str(root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "tester",
            "REMOTE_ADDR": "127.0.0.1",
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": given.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": given.get("content-encoding", ""),
            "GIT_PROTOCOL": given.get("git-protocol", ""),
        },
    )
    head, _, content = ran.stdout.partition(b"\r\n\r\n")
    lines = (line.partition(": ") for line in head.decode().split("\r\n") if line)
    answer = {name: value for name, _, value in lines}
    return int(answer.pop("Status", "200").split()[0]), answer, content
