"""Which requests pass the gateway: a catalogue of attacks over real sockets, and every honest request of the agents.

The endpoint behind the gateway keeps what it received. An attack may be refused or lose its harmful part. The
endpoint must never receive anything but a request to the model.
"""

import contextlib
import json
import re

import anyio
import anyio.abc
import pytest
from gateway_world import ANYTHING, KEY, OK, Endpoint, body_of, gateway_to, message
from proxy_world import everything, head_of, serving_tcp

from donewhen.engines.external.discover.profile import shipped
from donewhen.engines.external.network.endpoints import WIRES

pytestmark = pytest.mark.anyio
HEADERS = {"anthropic": "x-api-key", "openai": "authorization", "google": "x-goog-api-key"}
MODEL = {
    "anthropic": "/v1/messages",
    "openai": "/v1/responses",
    "google": "/v1beta/models/gemini-x:generateContent",
}
"""A request to the model that hides smuggled ones."""


def request(line: str, *fields: str, body: bytes = b"") -> bytes:
    lines = "".join(f"{field}\r\n" for field in ("Host: 127.0.0.1", "Connection: close", *fields))
    return f"{line} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body


ENDPOINTS = {
    "anthropic": (
        "GET /v1/files", "POST /v1/files", "DELETE /v1/files/file_1", "GET /v1/files/file_1/content",
        "POST /v1/messages/batches", "GET /v1/messages/batches", "GET /v1/messages/batches/b_1/results",
        "GET /v1/organizations/me", "POST /v1/organizations/invites", "GET /v1/organizations/api_keys",
        "POST /v1/organizations/api_keys/k", "GET /v1/organizations/usage_report/messages", "GET /v1/skills",
        "POST /v1/skills", "GET /v1/vaults", "GET /v1/sessions", "GET /v1/memory_stores", "GET /v1/agents",
        "GET /v1/environments", "GET /v1/user_profiles", "POST /v1/complete", "POST /v1/models", "DELETE /v1/models/m",
        "GET /v1/messages", "PUT /v1/messages", "GET /", "HEAD /v1/files", "OPTIONS /v1/messages", "PATCH /v1/messages",
        "post /v1/messages", "GET /v2/models", "POST /api/oauth/token", "POST /v1/chat/completions",
    ),
    "openai": (
        "GET /v1/files", "POST /v1/files", "GET /v1/files/f/content", "DELETE /v1/files/f", "POST /v1/uploads",
        "POST /v1/batches", "GET /v1/batches", "POST /v1/fine_tuning/jobs", "GET /v1/fine_tuning/jobs",
        "GET /v1/vector_stores", "POST /v1/vector_stores/v/search", "GET /v1/assistants", "POST /v1/threads",
        "GET /v1/threads/t/messages", "GET /v1/containers", "GET /v1/containers/c/files/f/content",
        "GET /v1/organization/users", "GET /v1/organization/admin_api_keys", "POST /v1/organization/projects",
        "GET /v1/organization/costs", "GET /v1/responses/resp_1", "GET /v1/responses/resp_1/input_items",
        "DELETE /v1/responses/resp_1", "GET /v1/chat/completions", "GET /v1/chat/completions/c/messages",
        "GET /v1/conversations/c/items", "POST /v1/images/generations", "POST /v1/audio/speech",
        "POST /v1/realtime/sessions",
        "POST /v1/embeddings", "POST /v1/moderations", "GET /v1/evals", "DELETE /v1/models/ft:m", "GET /v1/me",
        "GET /dashboard/billing/usage", "POST /v1/messages",
    ),
    "google": (
        "GET /v1beta/files", "POST /upload/v1beta/files", "DELETE /v1beta/files/f", "POST /v1beta/cachedContents",
        "GET /v1beta/cachedContents", "GET /v1beta/tunedModels", "POST /v1beta/tunedModels", "GET /v1beta/corpora",
        "POST /v1beta/models/m:batchGenerateContent", "POST /v1beta/models/m:embedContent", "GET /v1beta/batches",
        "POST /v1beta/models/m:predict", "POST /v1beta/models/m:predictLongRunning", "GET /v1beta/operations",
        "POST /v1beta/tunedModels/m:generateContent", "PATCH /v1beta/models/m",
        "POST /v1beta/models/m:transferOwnership",
        "GET /v1beta/models/m:generateContent", "POST /v1/models/m:generateContent", "GET /v1beta/fileSearchStores",
        "POST /batch", "GET /$discovery/rest",
    ),
}  # fmt: skip
"""What the key would open besides the model."""

TRICKS = (
    "{model}/../files", "{model}/%2e%2e/files", "{model}/%2E%2E%2Ffiles", "{model}/%252e%252e/files",
    "{model}/..%5cfiles", "{model}\\..\\files", "/{model}", "//evil.example{model}", "{model}//",
    "{model}/", "/./{model}",
    "{model};v=1", "/v1;x{tail}", "{model}%3Fx", "{model}%23", "{model}%00", "{model}%20", "{model}%0d%0aHost:%20evil",
    "{model}#/v1/files", "http://evil.example{model}", "https://127.0.0.1{model}",
    "@evil.example{model}", "evil.example:443",
    "*", "{model}?x=/../files", "{model}?key=a&upload_protocol=raw", "{model}?$httpMethod=DELETE",
    "{model}?_method=DELETE",
    "{model}?%62eta=true", "{model}?beta=true;key=x", "{model}?alt=media", "{model}?alt=sse%26key=x", "{model}?",
    "%2Fv1%2Ffiles", "/%76%31{tail}", "{upper}", "{model}?access_token=x&fields=*", "{model}?uploadType=media",
)  # fmt: skip
"""Targets that two programs may read differently, or that mean something else to the endpoint."""
HARMLESS = frozenset(("{model}?",))
"""Nothing of the trick is left in the rewritten request."""


def is_clean(wire: str, head: bytes) -> bool:
    """True if the endpoint received a request to the model, with one key, and nothing that changes its meaning."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, target, version = first.split(" ")
    WIRES[wire].require(method, *([*target.split("?"), ""][:2]))
    names = [line.partition(":")[0].lower() for line in lines]
    return (
        version == "HTTP/1.1"
        and re.fullmatch(r"[A-Za-z0-9/._:=?&-]+", target) is not None
        and len(set(names)) == len(names)
        and not {"transfer-encoding", "content-length"} <= set(names)
        and not any(re.search("override|forward|method|rewrite|original|upgrade|http2", name) for name in names)
        and head.count(KEY.encode()) == 1
    )


async def heard_of(wire: str, data: bytes, base: str = "") -> tuple[bytes, Endpoint]:
    """What the agent got, and the endpoint that was or was not called."""
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port:
        url, header = f"http://127.0.0.1:{port}{base}", HEADERS[wire]
        async with gateway_to(url, header, wire=WIRES[wire]) as gate:
            answer = await gate.ask(data)
            if not answer.startswith(b"HTTP/1.1 200 "):
                entry = await gate.entry()
                assert entry.status == int(answer[9:12]) and entry.detail, "refusals are in the log with their reason"
    return answer, endpoint


@pytest.mark.parametrize(("wire", "line"), [(wire, line) for wire, lines in ENDPOINTS.items() for line in lines])
async def test_other_endpoints_of_the_key_are_refused_with_a_reason_and_never_reached(wire: str, line: str) -> None:
    answer, endpoint = await heard_of(wire, request(line))
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert line.startswith("HEAD") or message(answer) == f"donewhen: {line} is not a request to the model"
    assert endpoint.connections == 0


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize("wire", MODEL)
async def test_a_path_or_query_that_is_not_plain_is_refused(wire: str, trick: str) -> None:
    model = MODEL[wire]
    target = trick.format(model=model, tail=model[3:], upper=model.upper())
    answer, endpoint = await heard_of(wire, request(f"POST {target}", "Content-Length: 2", body=b"{}"))
    assert all(is_clean(wire, head) for head in endpoint.heads)
    if trick in HARMLESS:
        assert answer.startswith(b"HTTP/1.1 200 ")
    else:
        assert answer[9:12] in (b"400", b"403") and endpoint.connections == 0


OVERRIDES = (
    "X-HTTP-Method-Override: DELETE", "X-HTTP-Method: DELETE", "X-Method-Override: GET", "X-Original-URL: /v1/files",
    "X-Rewrite-URL: /v1/files", "X-Forwarded-Host: evil.example", "X-Forwarded-Prefix: /v1/files",
    "Forwarded: host=evil",
    "X-Goog-Upload-Protocol: raw", "X-Goog-User-Project: other", "OpenAI-Organization: org-other",
    "X-Host: evil.example",
    "OpenAI-Project: other", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk", "X-Amz-Target: Other", "Content-Location: /x",
    "Destination: /v1/files", "Authorization: Bearer other", "X-Api-Key: other", "X-Goog-Api-Key: other", "Cookie: a=b",
    "Proxy-Authorization: Basic eA==", "TE: trailers", "Via: 1.1 evil",
)  # fmt: skip


@pytest.mark.parametrize("field", OVERRIDES)
@pytest.mark.parametrize("wire", MODEL)
async def test_a_header_field_that_changes_the_request_is_removed(wire: str, field: str) -> None:
    data = request(f"POST {MODEL[wire]}", field, "Content-Length: 2", "Content-Type: application/json", body=b"{}")
    answer, endpoint = await heard_of(wire, data)
    assert answer.startswith(b"HTTP/1.1 200 ")
    (head,) = endpoint.heads
    assert is_clean(wire, head) and endpoint.field("content-type") == ["application/json"]
    value = field.partition(": ")[2].encode()
    assert field.partition(":")[0].lower().encode() == HEADERS[wire].encode() or value not in head.partition(b"\r\n")[2]


HIDDEN = b"GET /v1/files HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
SMUGGLED = {
    "length beside chunks": (CHUNKED + b"Content-Length: 4\r\n", b"0\r\n\r\n" + HIDDEN),
    "chunks beside length": (b"Content-Length: 4\r\n" + CHUNKED, b"0\r\n\r\n" + HIDDEN),
    "two lengths": (b"Content-Length: 0\r\nContent-Length: 36\r\n", HIDDEN),
    "a list of lengths": (b"Content-Length: 0, 36\r\n", HIDDEN),
    "a signed length": (b"Content-Length: +0\r\n", HIDDEN),
    "a length in hex": (b"Content-Length: 0x24\r\n", HIDDEN),
    "a space before the colon": (b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n" + HIDDEN),
    "a folded field": (b"X-A: b\r\n Transfer-Encoding: chunked\r\n", b"0\r\n\r\n" + HIDDEN),
    "a bare line feed": (b"X-A: b\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + HIDDEN),
    "a bare carriage return": (b"X-A: b\rTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + HIDDEN),
    "a NUL": (b"X-A: b\0c\r\n", HIDDEN),
    "two codings": (b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n" + HIDDEN),
    "coded twice": (CHUNKED + CHUNKED, b"0\r\n\r\n" + HIDDEN),
    "an unknown coding": (b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n" + HIDDEN),
    "a coding in quotes": (b'Transfer-Encoding: "chunked"\r\n', b"0\r\n\r\n" + HIDDEN),
    "two hosts": (b"Host: evil.example\r\n", HIDDEN),
    "a chunk size that is none": (CHUNKED, b"-1\r\n" + HIDDEN),
    "chunk longer than its size": (CHUNKED, b"1\r\nab\r\n0\r\n\r\n" + HIDDEN),
    "a chunk size with a line feed": (CHUNKED, b"2\nab\r\n0\r\n\r\n" + HIDDEN),
    "a chunk extension with a line feed": (CHUNKED, b"2;a\nb\r\nab\r\n0\r\n\r\n" + HIDDEN),
    "an extension and trailers": (
        CHUNKED,
        b"2;x=y\r\nab\r\n0\r\nContent-Length: 9\r\nX-HTTP-Method: PUT\r\n\r\n" + HIDDEN,
    ),
    "pipelining": (b"Content-Length: 2\r\n", b"{}" + HIDDEN),
    "request head too long": (b"X-A: " + b"a" * 70_000 + b"\r\n", HIDDEN),
    "too many fields": (b"X-A: b\r\n" * 300, HIDDEN),
    "an upgrade to another protocol": (b"Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 0\r\n", HIDDEN),
    "a websocket": (b"Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 0\r\n", HIDDEN),
}
PASSES = frozenset(("an extension and trailers", "pipelining", "an upgrade to another protocol"))
"""The first request is honest and passes; the following one does not."""


@pytest.mark.parametrize("attack", SMUGGLED)
@pytest.mark.parametrize("wire", MODEL)
async def test_a_request_cannot_be_hidden_in_another_one(wire: str, attack: str) -> None:
    fields, rest = SMUGGLED[attack]
    first = f"POST {MODEL[wire]} HTTP/1.1\r\nHost: x\r\n".encode()
    answer, endpoint = await heard_of(wire, first + fields + b"\r\n" + rest)
    assert all(is_clean(wire, head) for head in endpoint.heads)
    assert not any(b"/v1/files" in heard for heard in (*endpoint.heads, *endpoint.bodies))
    if attack in PASSES:
        assert answer.startswith(b"HTTP/1.1 200 ") and len(endpoint.heads) == 1
        assert b"HTTP/1.1 403 " in answer, "what was hidden is a request of its own, and refused"
    else:
        assert answer[9:12] in (b"400", b"426", b"431")


class IgnoresBodies(Endpoint):
    """Read the body of a POST only, as many servers do: data after another head is the next request."""

    async def handle(self, stream: anyio.abc.ByteStream) -> None:
        self.connections += 1
        with contextlib.suppress(anyio.BrokenResourceError, anyio.EndOfStream):
            while head := await head_of(stream):
                self.heads.append(head)
                self.bodies.append(await body_of(stream, head) if head.startswith(b"POST ") else b"")
                await stream.send(OK)


HIDES = b"GET /v1/files HTTP/1.1\r\nHost: x\r\nX-Ignore: "
"""Take the first line of the next request as the value of its last field, and the key as a separate field."""
FRAMINGS = {
    "a length": b"Content-Length: %d\r\n\r\n%b" % (len(HIDES), HIDES),
    "chunks": CHUNKED + b"\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(HIDES), HIDES),
    "an invited length": b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n%b" % (len(HIDES), HIDES),
}
BODILESS = [
    *(("anthropic", "GET /v1/models"), ("anthropic", "HEAD /")),
    *(("openai", "GET /v1/models/m"), ("google", "GET /v1beta/models")),
]


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize(("wire", "line"), BODILESS)
async def test_a_body_on_anything_but_post_is_refused_before_anything_is_sent(
    wire: str, line: str, framing: str
) -> None:
    endpoint = IgnoresBodies()
    async with serving_tcp(endpoint.handle) as port:
        async with gateway_to(f"http://127.0.0.1:{port}", HEADERS[wire], wire=WIRES[wire]) as gate:
            first = f"{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n".encode()
            answer = await gate.ask(first + FRAMINGS[framing])
            entry = await gate.entry()
            assert endpoint.connections == 0
            method = line.partition(" ")[0]
            assert entry.status == 400 and entry.detail == f"{method} with a body is not forwarded"
            assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1") == 1
            after = await gate.ask(request(f"POST {MODEL[wire]}", "Content-Length: 2", body=b"{}"))
    assert after.startswith(b"HTTP/1.1 200 ")
    assert [is_clean(wire, head) for head in endpoint.heads] == [True], "the honest request, and no other"


async def test_without_the_gateway_a_hidden_request_gets_the_key_of_the_next_one() -> None:
    endpoint = IgnoresBodies()
    hidden = b"GET /v1/models HTTP/1.1\r\nHost: x\r\n" + FRAMINGS["a length"]
    after = request(f"POST {MODEL['anthropic']}", f"X-Api-Key: {KEY}", "Content-Length: 0")
    async with serving_tcp(endpoint.handle) as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(hidden + after)
        await stream.send_eof()
        await everything(stream)
    assert [head.split(b" HTTP/")[0] for head in endpoint.heads] == [b"GET /v1/models", b"GET /v1/files"]
    assert endpoint.field("x-api-key") == [KEY]


@pytest.mark.parametrize(("wire", "line"), BODILESS)
async def test_a_request_that_is_not_post_passes_without_a_body_and_so_does_the_post_after_it(
    wire: str, line: str
) -> None:
    endpoint = IgnoresBodies()
    async with serving_tcp(endpoint.handle) as port:
        async with gateway_to(f"http://127.0.0.1:{port}", HEADERS[wire], wire=WIRES[wire]) as gate:
            for one in (line, f"POST {MODEL[wire]}", f"POST {MODEL[wire]}", line):
                body = b"{}" if one.startswith("POST") else b""
                answer = await gate.ask(request(one, f"Content-Length: {len(body)}", body=body))
                assert answer.startswith(b"HTTP/1.1 200 ")
    assert all(is_clean(wire, head) for head in endpoint.heads) and len(endpoint.heads) == 4
    assert endpoint.connections == 2, "a request that is not POST is the last of its connection, a POST is not"


@pytest.mark.parametrize(
    "line",
    [
        *("CONNECT evil.example:443 HTTP/1.1", "CONNECT /v1/messages HTTP/1.1", "TRACE /v1/messages HTTP/1.1"),
        *("PRI * HTTP/2.0", "POST /v1/messages HTTP/2", "POST /v1/messages HTTP/1.1 ", "POST  /v1/messages HTTP/1.1"),
        *(
            "POST /v1/messages\tHTTP/1.1",
            "POST /v1/messages",
            "POST /v1/messages HTTP/1.2",
            " POST /v1/messages HTTP/1.1",
        ),
        *("GET /v1/files HTTP/1.0", "POST /v1/messages /v1/files HTTP/1.1"),
    ],
)
async def test_other_methods_and_versions_of_the_protocol_are_refused(line: str) -> None:
    answer, endpoint = await heard_of("anthropic", f"{line}\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
    assert answer[9:12] in (b"400", b"403", b"405") and endpoint.connections == 0


@pytest.mark.parametrize("line", ["GET /v1/files", "DELETE /v1/files/f", "GET /v1/organizations/api_keys"])
async def test_without_the_list_such_a_request_would_reach_the_endpoint_with_the_key(line: str) -> None:
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port:
        async with gateway_to(f"http://127.0.0.1:{port}", "x-api-key", wire=ANYTHING) as gate:
            await gate.ask(request(line, "X-HTTP-Method-Override: PUT"))
    assert endpoint.heads[0].startswith(line.encode()) and endpoint.field("x-api-key") == [KEY]
    assert endpoint.field("x-http-method-override") == ["PUT"]


# -- honest requests --


SDK = ("x-stainless-arch: x64", "x-stainless-lang: js", "x-stainless-retry-count: 0", "x-stainless-timeout: 600")
CLAUDE = (
    "anthropic-version: 2023-06-01",
    "anthropic-beta: claude-code-20250219,interleaved-thinking-2025-05-14", "x-app: cli",
    "anthropic-dangerous-direct-browser-access: true", "x-claude-code-session-id: f647e9da-3c02", *SDK,
)  # fmt: skip
CODEX = (
    "originator: codex_exec", "session-id: 01a1e771", "thread-id: 01a1e771", "x-client-request-id: 01a1e771",
    "x-codex-beta-features: remote_compaction_v2", 'x-codex-turn-metadata: {"installation_id":"a3a3"}',
    "x-codex-window-id: 01a1e771:0", "accept: text/event-stream",
)  # fmt: skip
HONEST = [
    ("anthropic", "claude-code", "POST /v1/messages?beta=true", CLAUDE),
    ("anthropic", "claude-code", "POST /v1/messages/count_tokens?beta=true", CLAUDE),
    ("anthropic", "claude-code", "HEAD /", ()),
    ("anthropic", "claude-code", "GET /v1/models?limit=1000", CLAUDE),
    ("anthropic", "claude-code", "GET /v1/models/claude-sonnet-4-5?beta=true", CLAUDE),
    ("anthropic", "pi", "POST /v1/messages", ("accept-language: *", "sec-fetch-mode: cors", *SDK)),
    ("anthropic", "qwen", "POST /v1/messages", SDK),
    ("anthropic", "opencode", "POST /v1/messages", ("x-session-id: ses_e1", "x-session-affinity: ses_e1")),
    ("anthropic", "copilot", "POST /v1/messages", SDK),
    ("anthropic", "aider", "POST /v1/messages", ("anthropic-version: 2023-06-01",)),
    ("anthropic", "mini-swe-agent", "POST /v1/messages", ("anthropic-version: 2023-06-01",)),
    ("openai", "codex", "POST /v1/responses", CODEX),
    ("openai", "codex", "GET /v1/models?client_version=0.166.0", CODEX),
    ("openai", "copilot", "POST /v1/chat/completions", ("x-initiator: user", "x-interaction-type: conversation-user")),
    ("openai", "copilot", "POST /v1/chat/completions", ("x-stainless-helper-method: stream", *SDK)),
    ("openai", "opencode", "POST /v1/chat/completions", ("x-session-id: ses_e1",)),
    ("openai", "qwen", "POST /v1/chat/completions", ("accept-language: *", *SDK)),
    ("openai", "pi", "POST /v1/responses", ("session_id: 01a1e772", "x-client-request-id: 01a1", *SDK)),
    ("openai", "aider", "POST /v1/chat/completions", ("x-stainless-raw-response: true", "x-stainless-async: false")),
    ("openai", "mini-swe-agent", "POST /v1/chat/completions", ("x-stainless-read-timeout: 600.0",)),
    (
        "google",
        "gemini",
        "POST /v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        ("x-goog-api-client: a/1",),
    ),
    ("google", "gemini", "POST /v1beta/models/gemini-2.5-pro:generateContent", ("x-goog-api-client: a/1",)),
    ("google", "gemini", "POST /v1beta/models/gemini-2.5-pro:countTokens", ()),
    ("google", "gemini", "GET /v1beta/models?pageSize=50", ()),
    ("google", "opencode", "POST /v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", ("x-session-id: s",)),
    ("google", "pi", "POST /v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", ("x-goog-api-client: a/1",)),
]
"""Requests that the real programs were seen to send, and the lists and counts of their wires."""


@pytest.mark.parametrize("base", ["", "/proxy/team-a"])
@pytest.mark.parametrize(("wire", "agent", "line", "fields"), HONEST)
async def test_every_recorded_request_of_the_agents_passes_unchanged(
    wire: str, agent: str, line: str, fields: tuple[str, ...], base: str
) -> None:
    assert agent in shipped()
    body = json.dumps({"model": "m", "stream": True}).encode() if line.startswith("POST") else b""
    always = ("content-type: application/json", f"user-agent: {agent}/1", f"Content-Length: {len(body)}")
    answer, endpoint = await heard_of(wire, request(line, *always, *fields, body=body), base)
    assert answer.startswith(b"HTTP/1.1 200 ")
    method, target = line.split(" ")
    assert endpoint.heads[0].startswith(f"{method} {base}{target} HTTP/1.1\r\n".encode())
    assert endpoint.bodies == [body]
    for field in (*always[:2], *fields):
        name, _, value = field.partition(": ")
        assert endpoint.field(name) == [value]


def test_every_provider_of_a_profile_has_a_list_of_allowed_requests() -> None:
    assert {provider.name for profile in shipped().values() for provider in profile.providers} == set(WIRES)
    assert {agent for _, agent, _, _ in HONEST} == {name for name, one in shipped().items() if one.providers}
