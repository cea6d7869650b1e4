"""The wire of `donewhen acp`: malformed messages, hostile prompts, ids of conversations, and what stands on stdout."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from program import PROGRAM
from runs.scenes import RIGHT, scene, script

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}


def answers(*lines: bytes | dict[str, Any], options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return what the program answers to these lines. It ends when its input does."""
    given = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    ran = subprocess.run([PROGRAM, "acp", *options], input=given, capture_output=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr.decode()
    assert b"Traceback" not in ran.stderr, ran.stderr.decode()
    return [json.loads(line) for line in ran.stdout.splitlines()]


def request(method: str, id: int = 7, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def new(cwd: Path | str) -> dict[str, Any]:
    return request("session/new", 2, cwd=str(cwd), mcpServers=[])


MALFORMED: list[tuple[bytes, int]] = [
    (b"{\n", -32700),
    (b"\xff\xfe\n", -32700),
    (b"[" * 100_000 + b"\n", -32700),
    (b'{"jsonrpc":"2.0","id":5,"id":6,"method":"initialize"}\n', -32700),
    (b'{"id":1,"method":"x","params":{"a":NaN}}\n', -32700),
    (b'"' + b"x" * (5 << 20) + b'"\n', -32700),
    (b"[]\n", -32600),
    (b"17\n", -32600),
    (b"null\n", -32600),
    (b"{}\n", -32600),
    (b'{"id":1,"method":17}\n', -32600),
    (b'{"id":{"a":1},"method":"initialize"}\n', -32600),
    (b'{"jsonrpc":"2.0","id":3,"method":"no/such"}\n', -32601),
    (b'{"jsonrpc":"2.0","id":3,"method":"session/fork","params":{"sessionId":"x","cwd":"/"}}\n', -32601),
    (b'{"jsonrpc":"2.0","id":3,"method":"session/new","params":[]}\n', -32602),
    (b'{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":1,"prompt":"x"}}\n', -32602),
    (b'{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":"here","mcpServers":[]}}\n', -32602),
    (b'{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"dw-1","prompt":[]}}\n', -32602),
]


def test_a_malformed_message_gets_an_error_and_the_next_one_is_read() -> None:
    lines: list[bytes | dict[str, Any]] = []
    for number, (line, _) in enumerate(MALFORMED):
        lines += [line, {**HELLO, "id": 100 + number}]
    found = answers(*lines)
    good = [one["id"] for one in found if "result" in one]
    assert sorted(good) == [100 + number for number in range(len(MALFORMED))]
    codes = [one["error"]["code"] for one in found if "error" in one]
    assert sorted(codes) == sorted(code for _, code in MALFORMED)


def test_notifications_that_mean_nothing_are_ignored() -> None:
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "dw-none"}},
        {"jsonrpc": "2.0", "method": "no/such", "params": {}},
        {"jsonrpc": "2.0", "id": 99, "result": {"of": "no request"}},
    ]
    assert [one["id"] for one in answers(*lines, HELLO)] == [1]


def test_a_line_without_an_end_is_read_like_the_others() -> None:
    assert [one["id"] for one in answers(json.dumps(HELLO).encode())] == [1]


def test_the_only_version_that_is_offered_is_1() -> None:
    asked = [{**HELLO, "id": version, "params": {"protocolVersion": version}} for version in (0, 1, 2, 99)]
    assert {one["id"]: one["result"]["protocolVersion"] for one in answers(*asked)} == {0: 1, 1: 1, 2: 1, 99: 1}


def test_only_ids_of_conversations_lead_to_files() -> None:
    zeros = "0" * 24
    ids = [
        "../../../../etc/passwd",
        f"dw-{zeros}/../x",
        "dw-" + "g" * 24,
        "",
        f"dw-{zeros}",
        "..",
        "\0",
        f"dw-{zeros}\n",
    ]
    loads = [
        request("session/load", number, sessionId=id, cwd="/tmp", mcpServers=[]) for number, id in enumerate(ids, 10)
    ]
    found = {one["id"]: one.get("error", {}).get("code") for one in answers(HELLO, *loads)}
    assert found == {1: None, **dict.fromkeys(range(10, 10 + len(ids)), -32602)}


def stored(home: Path) -> Path:
    return home / ".local" / "state" / "donewhen" / "acp"


def test_a_conversation_is_a_private_file(home: Path, tmp_path: Path) -> None:
    found = answers(HELLO, new(tmp_path))
    (id,) = [one["result"]["sessionId"] for one in found if one.get("id") == 2]
    (file,) = stored(home).iterdir()
    assert (file.name, file.stat().st_mode & 0o777) == (f"{id}.json", 0o600)
    assert stored(home).stat().st_mode & 0o777 == 0o700


def test_a_damaged_conversation_is_an_error_and_left_out_of_the_list(home: Path, tmp_path: Path) -> None:
    contents = ["", "{", "[]", '{"id": "another", "directory": "/"}', '{"turns": 1}']
    made = answers(HELLO, *(new(tmp_path) | {"id": 10 + number} for number in range(len(contents))))
    ids = [one["result"]["sessionId"] for one in made if one.get("id", 0) >= 10]
    for id, content in zip(ids, contents, strict=True):
        (stored(home) / f"{id}.json").write_text(content)
    loads = [
        request("session/load", number, sessionId=id, cwd=str(tmp_path), mcpServers=[])
        for number, id in enumerate(ids, 10)
    ]
    found = {one.get("id"): one for one in answers(HELLO, *loads, request("session/list", 8))}
    assert [found[number]["error"]["code"] for number in range(10, 15)] == [-32602] * 5
    assert found[8]["result"] == {"sessions": []}


def test_a_link_in_place_of_a_conversation_is_not_followed(home: Path, tmp_path: Path) -> None:
    found = answers(HELLO, new(tmp_path))
    (id,) = [one["result"]["sessionId"] for one in found if one.get("id") == 2]
    file = stored(home) / f"{id}.json"
    elsewhere = file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(elsewhere)
    load = request("session/load", sessionId=id, cwd=str(tmp_path), mcpServers=[])
    assert [one["error"]["code"] for one in answers(HELLO, load) if one.get("id") == 7] == [-32602]
    file.unlink()
    elsewhere.rename(file)  # the control: the same file in its place is read
    assert [one["result"] for one in answers(HELLO, load) if one.get("id") == 7]


def test_what_code_prints_does_not_reach_the_editor(tmp_path: Path) -> None:
    """A module that prints when it is loaded stands for any code that prints."""
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, sys\n"
        "if sys.argv[1:2] == ['acp']:\n"
        "    import acp.agent.connection as it\n"
        "    before = it.AgentSideConnection.listen\n"
        "    async def listen(self):\n"
        "        print('printed', flush=True)\n"
        "        await before(self)\n"
        "    it.AgentSideConnection.listen = listen\n"
    )
    ran = subprocess.run(
        [PROGRAM, "acp"],
        input=json.dumps(HELLO).encode() + b"\n",
        capture_output=True,
        check=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert [json.loads(line)["id"] for line in ran.stdout.splitlines()] == [1]
    assert b"printed" in ran.stderr


def test_input_and_output_may_be_files(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(json.dumps(HELLO) + "\n")
    with (tmp_path / "in").open("rb") as given, (tmp_path / "out").open("wb") as out:
        subprocess.run([PROGRAM, "acp"], stdin=given, stdout=out, check=True, timeout=120)
    assert json.loads((tmp_path / "out").read_text())["id"] == 1


def test_a_prompt_that_cannot_be_used_is_said_in_the_conversation(tmp_path: Path) -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    person = prompted(scene(tmp_path / "repo"), [{"type": "text", "text": "look"}, image])
    assert person["stop"] == "end_turn"
    assert person["text"].startswith("images cannot be used: describe in words what they show")


def prompted(repo: Path, blocks: list[Any]) -> dict[str, str]:
    """Send a prompt to a new conversation, and return what is said and why the agent stopped."""
    model = script(repo.parent / "script.json", RIGHT)
    process = subprocess.Popen(
        [PROGRAM, "acp", "--model", model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    text = ""
    with process:
        for line in (HELLO, new(repo)):
            process.stdin.write(json.dumps(line) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            message = json.loads(line)
            if message.get("id") == 2:
                prompt = request("session/prompt", sessionId=message["result"]["sessionId"], prompt=blocks)
                process.stdin.write(json.dumps(prompt) + "\n")
                process.stdin.flush()
            update = message.get("params", {}).get("update", {})
            if update.get("sessionUpdate") == "agent_message_chunk":
                text += update["content"]["text"]
            if message.get("id") == 7:
                process.stdin.close()
                return {"text": text, "stop": message["result"]["stopReason"]}
    raise AssertionError(text)
