"""The user's MCP server: its own path and everything below it, and nothing else of its address."""

import pytest
from gateway_world import ANYTHING, KEY, Endpoint, gateway_to, message
from proxy_world import serving_tcp

from donewhen.engines.external.network.endpoints import mcp_wire

pytestmark = pytest.mark.anyio


def request(line: str, *fields: str, body: bytes = b"") -> bytes:
    lines = "".join(f"{field}\r\n" for field in ("Host: x", "Connection: close", *fields))
    return f"{line} HTTP/1.1\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body


async def heard_of(data: bytes, path: str = "/mcp") -> tuple[bytes, Endpoint]:
    """What the agent got for `path`, and the server that was or was not called."""
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port:
        origin = f"http://127.0.0.1:{port}"
        async with gateway_to(origin, key="", wire=mcp_wire(origin + path)) as gate:
            answer = await gate.ask(data)
            entry = await gate.entry()
            assert entry.status == int(answer[9:12])
            assert entry.detail or answer.startswith(b"HTTP/1.1 200 "), "refusals are in the log with their reason"
    return answer, endpoint


ELSEWHERE = [
    *("GET /", "GET /private/admin", "POST /", "DELETE /files/1", "GET /mcp2", "GET /mcp.bak", "GET /MCP", "GET //mcp"),
    *("PUT /mcp", "PATCH /mcp", "HEAD /mcp", "OPTIONS /mcp", "get /mcp", "PROPFIND /mcp/x"),
    *("GET /mcp/..;/private", "GET /mcp;/../private", "GET /mcp/%2e%2e%3b/private", "GET /mcp%2f..%2fprivate"),
    *("GET /mcp/%252e%252e%252fprivate", "GET /mcp/%25252e%25252e/private", "GET /private%2f..%2fmcp"),
]


@pytest.mark.parametrize("line", ELSEWHERE)
async def test_another_path_or_method_of_the_mcp_server_is_refused_and_never_reaches_it(line: str) -> None:
    answer, endpoint = await heard_of(request(line))
    assert answer[9:12] in (b"400", b"403") and endpoint.connections == 0
    if answer[9:12] == b"403" and not line.startswith("HEAD"):
        assert message(answer) == f"donewhen: {line} is not a request to the MCP server"


@pytest.mark.parametrize("step", ["/mcp/../private", "/mcp/%2e%2e/private", "/mcp/.%2e/x", "/mcp\\..\\x", "/mcp/./x"])
async def test_a_path_of_the_mcp_server_with_steps_upwards_is_refused(step: str) -> None:
    answer, endpoint = await heard_of(request(f"GET {step}"))
    assert answer.startswith(b"HTTP/1.1 400 ") and endpoint.connections == 0


@pytest.mark.parametrize(
    "field",
    ["X-Original-URL: /private", "X-Rewrite-URL: /private", "X-HTTP-Method-Override: PUT", "X-Host: x"],
)
async def test_a_header_field_that_changes_the_request_to_the_mcp_server_is_removed(field: str) -> None:
    answer, endpoint = await heard_of(request("POST /mcp", field, body=b"{}"))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert endpoint.field(field.partition(":")[0].lower()) == []


async def test_a_body_on_delete_is_refused_for_the_mcp_server_too() -> None:
    answer, endpoint = await heard_of(request("DELETE /mcp", body=b"GET /private HTTP/1.1\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 400 ") and endpoint.connections == 0


@pytest.mark.parametrize("line", ["GET /private/admin", "DELETE /files/1", "PUT /mcp"])
async def test_without_the_list_such_a_request_would_reach_the_mcp_server(line: str) -> None:
    endpoint = Endpoint()
    async with serving_tcp(endpoint.handle) as port, gateway_to(f"http://127.0.0.1:{port}", wire=ANYTHING) as gate:
        await gate.ask(request(line))
    assert endpoint.heads[0].startswith(line.encode())


@pytest.mark.parametrize(
    ("path", "target"),
    [
        *(("/mcp", "/mcp"), ("/mcp", "/mcp/"), ("/mcp", "/mcp/sessions/a-1.b~c"), ("/mcp", "/mcp?session=a%20b&x=1")),
        *(("/mcp/", "/mcp/"), ("/mcp/", "/mcp"), ("/a%20b/v1.0", "/a%20b/v1.0"), ("", "/"), ("", "/messages/?id=1")),
        *(("/", "/sse"), ("/mcp?team=a", "/mcp?team=a")),
    ],
)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_protocol_requests_to_the_mcp_path_and_below_pass_unchanged(method: str, path: str, target: str) -> None:
    fields = ("Accept: application/json, text/event-stream", "Mcp-Session-Id: s-1", "MCP-Protocol-Version: 2025-06-18")
    body = b'{"jsonrpc":"2.0"}' if method == "POST" else b""
    answer, endpoint = await heard_of(request(f"{method} {target}", *fields, "Last-Event-ID: 7", body=body), path)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert endpoint.heads[0].startswith(f"{method} {target} HTTP/1.1\r\n".encode()) and endpoint.bodies == [body]
    for field in (*fields, "Last-Event-ID: 7"):
        name, _, value = field.partition(": ")
        assert endpoint.field(name.lower()) == [value]
    assert KEY.encode() not in endpoint.heads[0]
