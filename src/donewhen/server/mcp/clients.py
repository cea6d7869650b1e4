"""The programs that may use MCP: each has a token of its own, a list of tools, and perhaps one session as its limit.

Of a token only its hash is kept. The token itself is in a file that the user names, or in the configuration of an
agent. A file for each client is in the state directory of the daemon, for its owner alone.
"""

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.server.mcp.tools import IN_SESSION, TOOLS
from donewhen.server.methods.method import Right
from donewhen.server.service import Caller, Surroundings
from donewhen.storage.owner import Owner
from donewhen.workspace.state_dir import private_directory

PREFIX = "donewhen_mcp_"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
CALLER = "mcp:"
"""The beginning of the names of callers that are clients of MCP."""
LONGEST_TOKEN = 200
RIGHTS = frozenset({Right.OBSERVE, Right.SUBMIT})
"""What every MCP client has at most. No client of MCP decides for the person."""


@frozen(kw_only=True)
class McpClient:
    name: str
    tools: frozenset[str]
    session: str = ""
    """The only session that it may use; empty for all."""

    def caller(self, surroundings: Surroundings | None) -> Caller:
        name = f"{CALLER}{self.name}"
        return Caller(name=name, rights=RIGHTS, session=self.session, surroundings=surroundings)


def unlimited(name: str) -> McpClient:
    """Return a client with all tools: a program that the user started."""
    return McpClient(name=name, tools=frozenset(TOOLS))


class McpClients:
    def __init__(self, state: Path) -> None:
        self._directory = state / "daemon" / "mcp-clients"

    def create(self, name: str, tools: Sequence[str] = (), session: str = "", while_here: bool = False) -> str:
        """Create a client, or give it a new token. Return the token.

        With `while_here`, the token is valid as long as this process lives.
        """
        if not NAME.fullmatch(name):
            raise BadInput(f"{name!r} is no name of a client: use at most 64 letters, digits, '_', '.' or '-'")
        if while_here:
            self.remove_ended()
        known = IN_SESSION if session else frozenset(TOOLS)
        for tool in tools:
            if tool not in known:
                raise BadInput(f"there is no tool {tool!r}; there are: {', '.join(sorted(known))}")
        token = PREFIX + secrets.token_urlsafe(32)
        entry = {"name": name, "hash": _hash(token), "tools": sorted(tools or known), "session": session}
        entry["owner"] = Owner.here().text() if while_here else ""
        path = private_directory(self._directory) / f"{name}.json"
        new = path.with_suffix(".new")
        write_private(new, json.dumps(entry) + "\n")
        new.replace(path)
        return token

    def remove(self, name: str) -> bool:
        """Forget a client: its token is no longer valid. Return False if there is none with this name."""
        if not NAME.fullmatch(name):
            return False
        try:
            (self._directory / f"{name}.json").unlink()
        except FileNotFoundError:
            return False
        return True

    def remove_ended(self) -> None:
        """Forget the clients whose tokens were valid while a process lived that is dead now."""
        for path in self._directory.glob("*.json"):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                if not _is_valid(json.loads(path.read_text())):
                    path.unlink()

    def by_name(self, name: str) -> McpClient | None:
        return next((client for _, client in self._all() if client.name == name), None)

    def by_header(self, authorization: str) -> McpClient | None:
        """Return the client whose token is in an `Authorization` header."""
        scheme, _, token = authorization.partition(" ")
        return self.by_token(token) if scheme.lower() == "bearer" else None

    def by_token(self, token: str) -> McpClient | None:
        if not token or len(token) > LONGEST_TOKEN:
            return None
        given = _hash(token)
        found = None
        for known, client in self._all():
            if hmac.compare_digest(given, known):
                found = client  # the others are compared too: the time says nothing about the place in the list
        return found

    def _all(self) -> Iterator[tuple[str, McpClient]]:
        for path in sorted(self._directory.glob("*.json")):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                entry = json.loads(path.read_text())
                if not _is_valid(entry):
                    continue
                tools = frozenset(map(str, entry["tools"])) & frozenset(TOOLS)
                session = str(entry["session"])
                yield str(entry["hash"]), McpClient(name=str(entry["name"]), tools=tools, session=session)


def _is_valid(entry: Mapping[str, Any]) -> bool:
    if not entry.get("owner"):
        return True
    owner = Owner.read(str(entry["owner"]))
    return owner is not None and owner.is_alive()


def write_private(path: Path, text: str) -> None:
    """Create a file that only its owner can read. What was there before is replaced."""
    path.unlink(missing_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(file, "w") as opened:
        opened.write(text)


def token_in(path: Path) -> str:
    """Return the token in a file. Refuse a file that others can read."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        with open(file) as opened:
            mode = stat.S_IMODE(os.fstat(file).st_mode)
            text = opened.read(LONGEST_TOKEN + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: {getattr(error, 'strerror', None) or 'it is no text'}") from error
    if mode & 0o077:
        raise BadInput(f"{path}: others can read this token file; run: chmod 600 {path}")
    return text.strip()


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
