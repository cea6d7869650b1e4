"""The HTTP server of the test forge: who asks, which operation it is, is it valid, which fault, then the answer."""

import base64
import contextlib
import json
import re
import secrets
import threading
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from repositories import commit, git, repository, write

from . import description, forgejo
from .faults import Answers, Fault, Hangs
from .git_http import backend
from .operations import OPERATIONS, Call, Refused
from .world import PERSON, Item, Json, User, World

API = "/api/v3"
PAGE = 30
"""Items on a page, if a request does not say."""
FIELDS = {
    "user-agent": ".+",
    "accept": r"application/(vnd\.github[\w.]*\+)?json",
    "x-github-api-version": "2022-11-28",
}
"""What every request to the API has."""
GIT_OPERATIONS = {"info/refs": "git/refs", "git-upload-pack": "git/fetch", "git-receive-pack": "git/push"}


@dataclass(frozen=True)
class Received:
    operation: str
    """An id of the description; `git/refs`, `git/fetch` or `git/push` for git."""
    method: str
    path: str
    query: Mapping[str, str]
    fields: Mapping[str, str]
    """With small letters in their names."""
    body: bytes


@dataclass
class ForgeServer:
    """The handle of a running forge. Change what is on it only through the methods."""

    world: World
    checkout: Path
    """A clone in which other people work."""
    is_forgejo: bool = False
    token: str = field(default_factory=lambda: f"ghp_{secrets.token_hex(12)}")
    port: int = field(default=0, init=False)
    received: list[Received] = field(default_factory=list[Received], init=False)
    violations: list[str] = field(default_factory=list[str], init=False)
    faults: dict[str, list[Fault]] = field(default_factory=dict[str, list[Fault]], init=False)
    may_push: bool = field(default=True, init=False)
    wrong_token: Any = field(default="Bad credentials", init=False)
    not_found: Any = field(default="Not Found", init=False)
    """The messages of these refusals. A test that sets another type sees that they are validated."""
    on_request: Callable[[Received], None] | None = field(default=None, init=False)
    """Called before a request is answered: what happens on the machine or the forge at that moment."""
    closing: threading.Event = field(default_factory=threading.Event, init=False)
    lock: threading.RLock = field(default_factory=threading.RLock, init=False)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """For `forge.url`."""
        return self.address + (forgejo.API if self.is_forgejo else API)

    @property
    def owner(self) -> str:
        return self.world.owner

    @property
    def name(self) -> str:
        return self.world.name

    @property
    def bare(self) -> Path:
        return self.world.bare

    @property
    def git_url(self) -> str:
        return f"{self.address}/{self.owner}/{self.name}.git"

    def fail(self, operation: str, *faults: Fault) -> None:
        """Use these faults for the next requests of an operation, one each."""
        self.faults.setdefault(operation, []).extend(faults)

    def count(self, operation: str) -> int:
        return sum(one.operation == operation for one in self.received)

    # -- what other people do --

    def close(self, number: int, by: User = PERSON, reason: str | None = None) -> None:
        with self.lock:
            item = self.world.items[number]
            item.is_open, item.closed_by, item.reason = False, by, reason

    def merge(self, number: int, by: User = PERSON) -> None:
        self.close(number, by)
        self.world.items[number].merged_at = "2026-11-02T10:00:00Z"

    def push(self, branch: str, files: Mapping[str, str]) -> str:
        """Push a commit to a branch as somebody else; create the branch from main if it is missing."""
        start = f"origin/{branch}" if self.world.commit_of(branch) else "origin/main"
        git(self.checkout, "fetch", "--quiet", "origin")
        git(self.checkout, "checkout", "--quiet", "--detach", start)
        write(self.checkout, files)
        made = commit(self.checkout, "somebody else's work")
        git(self.checkout, "push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
        return made

    def issue(self, title: str, body: str = "", author: User = PERSON, labels: tuple[str, ...] = ()) -> int:
        with self.lock:
            return self.world.add(title, body, author, labels=list(labels)).number

    def pull(
        self, branch: str, title: str = "a change", body: str = "", author: User = PERSON, fork_owner: str = ""
    ) -> int:
        """Open a pull request as somebody else. The branch of a fork need not be there."""
        with self.lock:
            item = self.world.add(title, body, author, branch=branch, base="main")
            item.head, item.fork_owner = self.world.commit_of("main"), fork_owner
            return item.number

    def comment(self, number: int, body: str, author: User = PERSON) -> None:
        with self.lock:
            self.world.add_comment(self.world.items[number], body, author)

    def run(self, name: str, conclusion: str, branch: str = "main", commit: str = "") -> None:
        """Add a workflow run and its check run."""
        sha = commit or self.world.commit_of(branch)
        number = len(self.world.runs) + 1
        shared: Json = {"id": number, "name": name, "head_sha": sha, "status": "completed", "conclusion": conclusion}
        self.world.runs.append({**shared, "head_branch": branch, "event": "push", "run_number": number})
        self.world.check_runs.append(shared)

    def status(self, name: str, state: str, branch: str = "main") -> None:
        """Add a commit status."""
        self.world.statuses.append({"context": name, "state": state, "sha": self.world.commit_of(branch)})

    def item(self, number: int) -> Item:
        return self.world.items[number]


@contextlib.contextmanager
def running_forge(
    place: Path, owner: str = "octo", name: str = "widgets", is_forgejo: bool = False
) -> Generator[ForgeServer]:
    """Run a forge with one repository. At the end of the block, fail if a request or an answer was not valid."""
    first = repository(place / "first", {"README.md": "widgets\n"})
    bare = place / "git" / owner / f"{name}.git"
    git(place, "clone", "--quiet", "--bare", str(first), str(bare))
    git(bare, "config", "http.receivepack", "true")
    git(place, "clone", "--quiet", str(bare), str(place / "others"))
    forge = ForgeServer(World(owner, name, bare), place / "others", is_forgejo=is_forgejo)
    server = _Server(("127.0.0.1", 0), _Handler)
    server.forge, server.git_root = forge, place / "git"
    forge.port = server.server_address[1]
    forge.world.url = forge.address
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield forge
    finally:
        forge.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
    assert forge.violations == [], "\n".join(forge.violations)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    forge: ForgeServer
    git_root: Path

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that disconnects is part of some faults."""


@dataclass(frozen=True)
class _Reply:
    status: int
    fields: Mapping[str, str]
    body: bytes


def _refusal(message: Any) -> Json:
    return {"message": message, "documentation_url": "https://example.invalid/"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise each answer waits for the acknowledgement of its head
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride] - always this class

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # noqa: N815 - the names are those of the standard library

    def _answer(self) -> None:
        forge, parts = self.server.forge, urlsplit(self.path)
        body = self._body()
        path = unquote(parts.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        fields = {name.lower(): value for name, value in self.headers.items()}
        in_git = path.startswith(f"/{forge.owner}/{forge.name}.git/") or ".git/" in path
        if in_git:
            name = GIT_OPERATIONS.get(path.partition(".git/")[2], "git/other")
            received = Received(name, self.command, path, query, fields, body)
        else:
            below = path.removeprefix(urlsplit(forge.url).path)
            found = description.operation_for(self.command, below)
            received = Received(found[0].id if found else "", self.command, below, query, fields, body)
        with forge.lock:
            forge.received.append(received)
            waiting = forge.faults.get(received.operation, [])
            fault = waiting.pop(0) if waiting else None
        wrong = [] if in_git else self._problems(received, parts.query)
        self._note(received.operation or f"{self.command} {received.path}", "request", wrong)
        if forge.on_request is not None:
            forge.on_request(received)
        if isinstance(fault, Answers):
            return self._send(self._fault(received, fault, in_git))
        if fault is None or fault.after_effect:
            reply = self._git(received, parts.query) if in_git else self._api(received, wrong)
            if fault is None:
                return self._send(reply)
        if isinstance(fault, Hangs):
            forge.closing.wait()
        self.close_connection = True
        return None

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        whole = bytearray()
        while size := int(self.rfile.readline().split(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return bytes(whole)

    def _send(self, reply: _Reply) -> None:
        with contextlib.suppress(OSError):  # the client may be gone
            self.send_response_only(reply.status)
            fields = {"Date": self.date_time_string(), **reply.fields, "Content-Length": str(len(reply.body))}
            for name, value in fields.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

    # -- git --

    def _git(self, received: Received, query: str) -> _Reply:
        forge = self.server.forge
        scheme, _, given = received.fields.get("authorization", "").partition(" ")
        try:
            user, _, password = base64.b64decode(given).decode().partition(":")
        except ValueError:
            user = password = ""
        if scheme.lower() != "basic" or not user or password != forge.token:
            return _Reply(401, {"WWW-Authenticate": 'Basic realm="GitHub"'}, b"Bad credentials")
        if not received.path.startswith(f"/{forge.owner}/{forge.name}.git/"):
            return _Reply(404, {}, b"Repository not found.")
        is_push = "git-receive-pack" in (received.query.get("service"), received.path.rpartition("/")[2])
        if is_push and not forge.may_push:
            return _Reply(403, {}, b"Write access to repository not granted.")
        return _Reply(
            *backend(self.server.git_root, self.command, received.path, query, received.fields, received.body)
        )

    # -- the API --

    def _problems(self, received: Received, query: str) -> list[str]:
        """Return what is wrong with a request, whoever asks and whatever is answered."""
        found = description.operation_for(self.command, received.path)
        if found is None:
            return ["no such operation"]
        names = [name for name, _ in parse_qsl(query, keep_blank_values=True)]
        wrong = [f"repeated parameter {name}" for name in received.query if names.count(name) > 1]
        needed = FIELDS | ({"content-type": "application/json.*"} if received.body else {})
        given = received.fields
        wrong += [f"field {name}" for name, form in needed.items() if not re.fullmatch(form, given.get(name, ""))]
        try:
            body = json.loads(received.body) if received.body else None
        except ValueError:
            return [*wrong, "a body that is no JSON"]
        operation = forgejo.REQUESTS.get(found[0].id) if self.server.forge.is_forgejo else found[0]
        if operation is None:
            return [*wrong, "no operation of Forgejo"]
        return (
            wrong + description.query_problems(operation, received.query) + description.body_problems(operation, body)
        )

    def _fault(self, received: Received, fault: Answers, in_git: bool) -> _Reply:
        is_validated = not in_git and not fault.is_wrong
        value = _refusal(fault.message) if fault.value is None else fault.value
        if isinstance(value, bytes):
            if is_validated:
                self._validate(received, fault.status, value)
            return _Reply(fault.status, fault.headers, value)
        if is_validated:
            return self._filled(received, fault.status, value, fault.headers)
        return self._json(fault.status, value, fault.headers)

    def _refused(self, received: Received, status: int, message: Any) -> _Reply:
        return self._filled(received, status, _refusal(message))

    def _filled(self, received: Received, status: int, value: Any, fields: Mapping[str, str] | None = None) -> _Reply:
        """Return an answer with what its schema requires beside the given facts."""
        schema = self._schema(received, status)
        reply = self._json(status, description.filled(schema, value) if schema else value, fields)
        self._validate(received, status, reply.body)
        return reply

    def _validate(self, received: Received, status: int, body: bytes) -> None:
        try:
            wrong = description.problems(self._schema(received, status), json.loads(body))
        except ValueError:
            wrong = ["no JSON"]
        self._note(received.operation, f"answer {status}", wrong)

    def _schema(self, received: Received, status: int) -> Json | None:
        """Return the schema of an answer. Of Forgejo's only those of refusals are known."""
        if self.server.forge.is_forgejo:
            return description.ERROR if status >= 400 else None
        found = description.operation_for(self.command, received.path)
        return found[0].answer_schema(status) if found else description.ERROR

    def _api(self, received: Received, wrong: list[str]) -> _Reply:
        forge = self.server.forge
        found = description.operation_for(self.command, received.path)
        scheme, _, given = received.fields.get("authorization", "").partition(" ")
        if scheme.lower() not in ("token", "bearer") or given != forge.token:
            return self._refused(received, 401, forge.wrong_token)
        if found is None:
            return self._refused(received, 404, forge.not_found)
        operation, values = found
        if [values.get(key) for key in ("owner", "repo") if key in values] not in ([], [forge.owner, forge.name]):
            return self._refused(received, 404, forge.not_found)
        if wrong:
            return self._refused(received, 422, "; ".join(wrong))
        body = json.loads(received.body) if received.body else None
        call = Call(forge.world, values, received.query, body)
        with forge.lock:
            if forge.is_forgejo:
                status, value, fields = forgejo.answer(operation.id, call)
                return self._filled(received, status, value, fields)
            try:
                status, value = int(min(operation.answers)), OPERATIONS[operation.id](call)
            except Refused as refused:
                status, value = refused.status, refused.body
        value, fields = self._page(received, value)
        return self._filled(received, status, value, fields)

    def _page(self, received: Received, value: Any) -> tuple[Any, Mapping[str, str]]:
        if not isinstance(value, list) or self.command != "GET":
            return cast("Any", value), {}
        items = cast("list[Any]", value)
        size, page = int(received.query.get("per_page", PAGE)), int(received.query.get("page", 1))
        shown = items[size * (page - 1) : size * page]
        if len(items) <= size * page:
            return shown, {}
        query = urlencode({**received.query, "page": str(page + 1)})
        return shown, {"Link": f'<{self.server.forge.url}{quote(received.path)}?{query}>; rel="next"'}

    def _note(self, operation: str, what: str, wrong: list[str]) -> None:
        self.server.forge.violations += [f"{operation}, {what}: {one}" for one in wrong]

    def _json(self, status: int, value: Any, fields: Mapping[str, str] | None = None) -> _Reply:
        limits = {"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "1900000000"}
        shared = {"Content-Type": "application/json; charset=utf-8", **limits}
        return _Reply(status, {**shared, **(fields or {})}, json.dumps(value).encode())
