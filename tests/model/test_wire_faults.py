"""Faults of servers and networks, over every wire: what is retried, what is not, and a partial reply is no reply."""

import json
import socket
import threading
from dataclasses import replace
from email.utils import formatdate

import anyio
import pytest
from talking import ENVIRONMENT, KEY, NOW, TWO_CALLS, WIRES, World, first_turn, talking

from donewhen.model.deadlines import Deadlines, RetryBudget
from donewhen.model.interface import ModelFailed, ModelWaits, Reply, close_model
from donewhen.model.open_model import ModelConfig, open_model
from wire_server import (
    Act,
    Answer,
    Cuts,
    Decides,
    Pings,
    Received,
    Refuses,
    SaidCall,
    Says,
    Sends,
    Silent,
    Stalls,
    Wire,
    frames,
    serving,
)

pytestmark = pytest.mark.anyio

every_wire = pytest.mark.parametrize("wire", WIRES)
FINE = Says(Answer(text="fine"))
NO_TEMPERATURE = Refuses(400, b'{"error": {"message": "no temperature here"}}')
CALLING = Answer(text="I look.", calls=TWO_CALLS)
SOON = Deadlines(first_event=0.5, silence=0.5)
"""Short enough to wait for; a busy machine may need more than one request even after the fault."""


async def outcome(
    wire: Wire,
    *acts: Act,
    world: World | None = None,
    deadlines: Deadlines | None = None,
    retry: RetryBudget | None = None,
    again: bool = False,
) -> tuple[Reply | ModelFailed | ModelWaits, int]:
    """How a turn ended, and the number of its requests."""
    with serving(*acts, again=again) as server:
        async with talking(server, wire, world, deadlines=deadlines, retry=retry) as model:
            try:
                ended: Reply | ModelFailed | ModelWaits = await model.reply(first_turn())
            except (ModelFailed, ModelWaits) as failure:
                ended = failure
    return ended, len(server.received)


async def failure(wire: Wire, *acts: Act, world: World | None = None, again: bool = False) -> ModelFailed:
    ended, _ = await outcome(wire, *acts, world=world, again=again)
    assert isinstance(ended, ModelFailed)
    return ended


async def waits(wire: Wire, *acts: Act) -> ModelWaits:
    ended, requests = await outcome(wire, *acts, again=True)
    assert isinstance(ended, ModelWaits)
    assert requests == 1, "what only a person can change is not asked again"
    return ended


# -- statuses --


@every_wire
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_a_temporary_failure_is_retried_after_a_growing_pause(wire: Wire, status: int) -> None:
    world = World()
    ended, requests = await outcome(wire, *[Refuses(status)] * 3, FINE, world=world)
    assert isinstance(ended, Reply)
    assert (ended.text, requests, world.pauses) == ("fine", 4, [0.5, 1.0, 2.0])


@every_wire
@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.25"}, 0.25),
        ({"Retry-After-Ms": "1500", "Retry-After": "2"}, 1.5),
        ({"Retry-After": formatdate(NOW + 30, usegmt=True)}, 30.0),
        ({"Retry-After": formatdate(NOW - 30, usegmt=True)}, 0.0),
        ({"Retry-After": "soon"}, 0.5),
    ],
    ids=["seconds", "parts of one", "milliseconds", "date", "past date", "nonsense"],
)
async def test_the_pause_is_the_one_that_the_server_asks_for(wire: Wire, headers: dict[str, str], pause: float) -> None:
    world = World()
    ended, _ = await outcome(wire, Refuses(429, headers=headers), FINE, world=world)
    assert isinstance(ended, Reply)
    assert world.pauses == [pause]


@every_wire
async def test_a_limit_with_a_distant_reset_waits_for_a_person_with_the_reset_time(wire: Wire) -> None:
    found = await waits(wire, Refuses(429, headers={"Retry-After": "7200"}))
    assert (found.kind, found.reset_at) == ("quota", "2027-01-15T10:00:00Z")


@every_wire
async def test_a_limit_with_its_reset_in_a_header_waits_until_then(wire: Wire) -> None:
    found = await waits(wire, Refuses(429, headers={"Anthropic-Ratelimit-Unified-Reset": f"{NOW + 7200:.0f}"}))
    assert (found.kind, found.reset_at) == ("quota", "2027-01-15T10:00:00Z")


@every_wire
async def test_an_overloaded_server_is_retried_within_the_budget_of_the_turn(wire: Wire) -> None:
    world = World()
    ended, requests = await outcome(wire, Refuses(529), world=world, retry=RetryBudget(per_turn=3), again=True)
    assert isinstance(ended, ModelFailed)
    assert (ended.kind, ended.final, requests, len(world.pauses)) == ("overloaded", False, 4, 3)
    assert "tried 4 times" in str(ended)


async def test_the_retry_budget_of_a_run_covers_all_turns() -> None:
    world = World()
    with serving(Refuses(500), again=True) as server:
        async with talking(server, "anthropic", world, retry=RetryBudget(per_turn=3, per_run=5)) as model:
            for _ in range(3):
                with pytest.raises(ModelFailed):
                    await model.reply(first_turn())
    assert len(server.received) == 3 + 5
    assert len(world.pauses) == 5


async def test_the_sum_of_pauses_is_bounded() -> None:
    world = World()
    await outcome(
        "openai-chat", Refuses(500), world=world, retry=RetryBudget(per_turn=50, secs_per_turn=40), again=True
    )
    assert world.pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]


async def test_jitter_is_at_most_half_of_a_pause() -> None:
    world = World()
    outside = world.outside()
    chances = iter([0.0, 0.5, 1.0])
    with serving(*[Refuses(500)] * 3, FINE) as server:
        config = ModelConfig(base_url=server.url)
        restless = type(outside)(now=outside.now, random_fraction=lambda: next(chances), pause=outside.pause)
        model = open_model("anthropic:m", config, ENVIRONMENT, restless)
        await model.reply(first_turn())
        await close_model(model)
    assert world.pauses == [0.5, 1.5, 4.0]


@every_wire
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"error": {"message": "tools.0: bad schema"}}', "bad_request"),
        (b'{"error": {"code": "context_length_exceeded", "message": "too much"}}', "context_length"),
        (b'{"error": {"message": "This model\'s maximum context length is 8192 tokens."}}', "context_length"),
        (b'{"type": "error", "error": {"message": "prompt is too long: 210000 tokens > 200000"}}', "context_length"),
        (
            b'[{"error": {"message": "The input token count (2000000) exceeds the maximum number of tokens"}}]',
            "context_length",
        ),
        (b"<html>bad gateway page</html>", "bad_request"),
        (b"", "bad_request"),
        (b"[" * 100_000, "bad_request"),
    ],
    ids=range(8),
)
async def test_a_bad_request_is_never_retried(wire: Wire, body: bytes, kind: str) -> None:
    ended, requests = await outcome(wire, Refuses(400, body), again=True)
    assert isinstance(ended, ModelFailed)
    assert (ended.kind, ended.final, requests) == (kind, True, 1)
    assert "\n" not in str(ended)
    assert len(str(ended)) < 400


@every_wire
@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_waits_for_a_person(wire: Wire, status: int) -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    found = await waits(wire, Refuses(status, body))
    assert (found.kind, found.reset_at) == ("sign_in", "")
    assert KEY not in str(found)


async def test_a_bad_key_reported_by_google_as_a_bad_request_waits_for_a_person() -> None:
    body = b'{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "X"}}'
    assert (await waits("google", Refuses(400, body))).kind == "sign_in"


@pytest.mark.parametrize(
    ("wire", "status", "error", "reset_at"),
    [
        ("openai-chat", 429, {"type": "insufficient_quota", "code": "insufficient_quota", "message": "quota"}, ""),
        ("openai-responses", 429, {"type": "insufficient_quota", "message": "You exceeded your current quota"}, ""),
        ("anthropic", 400, {"type": "invalid_request_error", "message": "Your credit balance is too low to use"}, ""),
        (
            "anthropic",
            400,
            {"message": "You have reached your specified API usage limits. You will regain access on 2027-02-01."},
            "2027-02-01T00:00:00Z",
        ),
        ("anthropic", 402, {"type": "billing_error", "message": "pay"}, ""),
        ("openai-responses", 429, {"type": "usage_limit_reached", "resets_at": 1800003600}, "2027-01-15T09:00:00Z"),
        (
            "google",
            429,
            {
                "status": "RESOURCE_EXHAUSTED",
                "message": "You exceeded your quota",
                "details": [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}],
            },
            "",
        ),
    ],
    ids=["openai", "responses", "credit", "spending limit", "billing", "plan", "google per day"],
)
async def test_an_exhausted_quota_waits_with_the_reset_time_if_known(
    wire: Wire, status: int, error: dict[str, object], reset_at: str
) -> None:
    found = await waits(wire, Refuses(status, json.dumps({"error": error}).encode()))
    assert (found.kind, found.reset_at) == ("quota", reset_at)


async def test_google_is_retried_when_its_limit_per_minute_ends() -> None:
    world = World()
    details = [{"violations": [{"quotaId": "GenerateRequestsPerMinute"}]}, {"retryDelay": "34.5s"}]
    body = json.dumps({"error": {"status": "RESOURCE_EXHAUSTED", "message": "slow", "details": details}}).encode()
    ended, _ = await outcome("google", Refuses(429, body), FINE, world=world)
    assert isinstance(ended, Reply)
    assert world.pauses == [34.5]


# -- connections and deadlines --


@every_wire
async def test_a_refused_connection_is_a_network_failure_after_its_retries(wire: Wire) -> None:
    world = World()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        model = open_model(f"{wire}:m", ModelConfig(base_url=url), ENVIRONMENT, world.outside())
        with pytest.raises(ModelFailed) as failed:
            await model.reply(first_turn())
        await close_model(model)
    assert (failed.value.kind, failed.value.final, len(world.pauses)) == ("network", False, 5)


async def test_a_name_that_does_not_exist_is_a_network_failure() -> None:
    config = ModelConfig(base_url="http://no-such-host.invalid/v1", retry=RetryBudget(per_turn=0))
    model = open_model("openai:m", config, ENVIRONMENT)
    with pytest.raises(ModelFailed) as failed:
        await model.reply(first_turn())
    await close_model(model)
    assert failed.value.kind == "network"


@every_wire
async def test_a_silent_server_is_retried(wire: Wire) -> None:
    ended, requests = await outcome(wire, Silent(), FINE, deadlines=SOON, again=True)
    assert isinstance(ended, Reply)
    assert ended.text == "fine"
    assert requests > 1


@pytest.mark.sample(4)
@every_wire
@pytest.mark.parametrize("events", [1, 2, 4])
async def test_a_partial_reply_is_retried_and_not_used(wire: Wire, events: int) -> None:
    ended, requests = await outcome(wire, Stalls(CALLING, min(events, last(wire))), FINE, deadlines=SOON, again=True)
    assert isinstance(ended, Reply)
    assert (ended.text, ended.calls) == ("fine", ())
    assert requests > 1


def last(wire: Wire) -> int:
    return len(frames(wire, CALLING)) - 1


@every_wire
@pytest.mark.parametrize("events", [0, 2])
async def test_keep_alive_events_are_not_a_reply(wire: Wire, events: int) -> None:
    ended, requests = await outcome(wire, Pings(CALLING, events), FINE, deadlines=SOON, again=True)
    assert isinstance(ended, Reply)
    assert ended.text == "fine"
    assert requests > 1


@every_wire
async def test_an_endless_reply_is_stopped_by_the_total_deadline(wire: Wire) -> None:
    endless = Says(Answer(text="word " * 20, calls=TWO_CALLS), gap_secs=0.1)
    ended, _ = await outcome(wire, endless, deadlines=Deadlines(total=0.15), again=True)
    assert isinstance(ended, ModelFailed)
    assert ended.kind == "timeout"


@every_wire
async def test_a_slow_reply_within_its_deadlines_is_accepted(wire: Wire) -> None:
    ended, requests = await outcome(wire, Says(CALLING, gap_secs=0.02), deadlines=Deadlines(silence=5.0))
    assert isinstance(ended, Reply)
    assert (len(ended.calls), requests) == (2, 1)


# -- partial replies --


@every_wire
@pytest.mark.parametrize("orderly", [False, True], ids=["connection cut", "stream ended"])
async def test_a_reply_cut_at_any_point_is_retried_and_never_executed(wire: Wire, orderly: bool) -> None:
    for events in range(len(frames(wire, CALLING))):
        ended, requests = await outcome(wire, Cuts(CALLING, events, orderly), FINE)
        assert isinstance(ended, Reply)
        assert (ended.text, ended.calls, requests) == ("fine", (), 2), events


@every_wire
async def test_a_stream_that_always_lacks_its_end_is_a_malformed_reply(wire: Wire) -> None:
    found = await failure(wire, Cuts(CALLING, last(wire), orderly=True), again=True)
    assert (found.kind, found.final) == ("malformed", False)


@every_wire
async def test_data_after_the_end_of_a_reply_is_ignored(wire: Wire) -> None:
    """The same reply twice in one stream is one reply, with each call once."""

    def twice(asked: Wire) -> bytes:
        return b"".join(frames(asked, CALLING) * 2)

    ended, _ = await outcome(wire, Sends(twice), FINE)
    assert isinstance(ended, Reply)
    assert [call.id for call in ended.calls] == (["c1", "c2"] if wire != "google" else [])


@every_wire
async def test_a_reply_with_an_unknown_finish_reason_is_not_accepted(wire: Wire) -> None:
    odd = Says(Answer(text="I look.", calls=TWO_CALLS, stop="tired"))
    assert (await failure(wire, odd, again=True)).kind == "malformed"


@pytest.mark.parametrize(
    ("wire", "stop"),
    [
        ("openai-chat", "content_filter"),
        ("openai-responses", "content_filter"),
        ("anthropic", "refusal"),
        ("google", "SAFETY"),
    ],
)
async def test_a_refusal_has_its_own_kind(wire: Wire, stop: str) -> None:
    ended, requests = await outcome(wire, Says(Answer(calls=TWO_CALLS, stop=stop)), again=True)
    assert isinstance(ended, ModelFailed)
    assert (ended.kind, requests) == ("refused", 1)


@pytest.mark.parametrize(
    ("wire", "stop"),
    [
        ("openai-chat", "length"),
        ("openai-responses", "max_output_tokens"),
        ("anthropic", "max_tokens"),
        ("google", "MAX_TOKENS"),
    ],
)
async def test_a_call_cut_at_the_token_limit_is_not_executed(wire: Wire, stop: str) -> None:
    calls = (TWO_CALLS[0], SaidCall("c2", "shell", '{"command": "rm -r'))
    ended, requests = await outcome(wire, Says(Answer(calls=calls, stop=stop)))
    assert isinstance(ended, Reply)
    assert (ended.stop, requests) == ("length", 1)
    assert [bool(call.problem) for call in ended.calls] == [False, True]
    assert ended.calls[1].input == {}


@every_wire
async def test_an_error_inside_a_stream_counts_like_its_status(wire: Wire) -> None:
    def overloaded(asked: Wire) -> bytes:
        error = {"type": "overloaded_error", "code": 503, "message": "Overloaded"}
        kind = {"anthropic": "error", "openai-responses": "error"}.get(asked)
        named = {"type": kind} if kind else {}
        start = frames(asked, CALLING)[0]
        return start + b"data: " + json.dumps({**named, "error": error}).encode() + b"\n\n"

    world = World()
    ended, requests = await outcome(wire, Sends(overloaded), FINE, world=world)
    assert isinstance(ended, Reply)
    assert (ended.text, requests, len(world.pauses)) == ("fine", 2, 1)


# -- malformed replies --

BROKEN_ARGUMENTS = ['{"command": "ls', "[1]", '{"a": "\\ud800"}', '{"a":' * 300 + "1" + "}" * 300]


@every_wire
@pytest.mark.parametrize("arguments", BROKEN_ARGUMENTS, ids=["cut", "list", "half a character", "deep"])
async def test_an_unreadable_call_is_retried(wire: Wire, arguments: str) -> None:
    broken = Says(Answer(calls=(SaidCall("c1", "shell", arguments),)))
    ended, requests = await outcome(wire, broken, FINE)
    assert isinstance(ended, Reply)
    assert (ended.text, requests) == ("fine", 2)


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
@pytest.mark.parametrize("retry", [RetryBudget(), RetryBudget(per_turn=0)], ids=["retries", "no retries"])
async def test_a_call_that_stays_unreadable_is_returned_with_its_problem_and_total_cost(
    wire: Wire, retry: RetryBudget
) -> None:
    broken = Says(Answer(calls=(SaidCall("c1", "shell", '{"command": "ls'),), input=100, output=10))
    ended, requests = await outcome(wire, broken, retry=retry, again=True)
    assert isinstance(ended, Reply)
    assert ended.calls[0].problem
    assert ended.calls[0].input == {}
    assert requests == (2 if retry.per_turn else 1)
    assert ended.usage.total == 110 * requests


@every_wire
async def test_an_argument_of_ten_megabytes_is_refused_in_bounded_time(wire: Wire) -> None:
    huge = Says(Answer(calls=(SaidCall("c1", "write_file", json.dumps({"content": "x" * 10_000_000})),)))
    ended, _ = await outcome(wire, huge, retry=RetryBudget(per_turn=0))
    if isinstance(ended, Reply):
        assert "more than" in ended.calls[0].problem
    else:
        assert isinstance(ended, ModelFailed)
        assert ended.kind == "malformed"


@every_wire
@pytest.mark.parametrize(
    "start",
    [
        b"data: {\xff}\n\n",
        b"data: " + b"[" * 100_000 + b"\n\n",
        b'data: {"a": NaN}\n\n',
        b"data: 7\n\n",
        b"data: {\n\n",
    ],
    ids=["no UTF-8", "deep", "NaN", "a number", "no JSON"],
)
async def test_a_stream_with_a_broken_event_is_retried(wire: Wire, start: bytes) -> None:
    ended, requests = await outcome(wire, Sends(lambda asked: start + b"".join(frames(asked, CALLING))), FINE)
    assert isinstance(ended, Reply)
    assert (ended.text, ended.calls, requests) == ("fine", (), 2)


@every_wire
@pytest.mark.parametrize("body", [b"", b"<html>hello</html>", b'{"choices": []}'], ids=["nothing", "a page", "JSON"])
async def test_a_body_that_is_not_a_stream_is_retried(wire: Wire, body: bytes) -> None:
    ended, requests = await outcome(wire, Sends(body), FINE)
    assert isinstance(ended, Reply)
    assert (ended.text, ended.calls, requests) == ("fine", (), 2)


@every_wire
async def test_lone_surrogates_in_text_are_replaced(wire: Wire) -> None:
    ended, _ = await outcome(wire, Says(Answer(text="a\ud800b😀")))
    assert isinstance(ended, Reply)
    assert ended.text == "a\ufffdb😀"


@every_wire
async def test_the_same_call_twice_under_one_id_is_one_call(wire: Wire) -> None:
    ended, _ = await outcome(wire, Says(Answer(calls=(TWO_CALLS[0], TWO_CALLS[0]))))
    assert isinstance(ended, Reply)
    assert len(ended.calls) == 1


@every_wire
async def test_two_calls_under_one_id_keep_it_only_once(wire: Wire) -> None:
    calls = (SaidCall("c1", "shell", '{"command": "a"}'), SaidCall("c1", "shell", '{"command": "b"}'))
    ended, _ = await outcome(wire, Says(Answer(calls=calls)))
    assert isinstance(ended, Reply)
    assert [call.id for call in ended.calls] == ["c1", ""]


@every_wire
async def test_calls_without_ids_are_left_for_the_engine_to_assign(wire: Wire) -> None:
    ended, _ = await outcome(wire, Says(Answer(calls=(SaidCall("", "shell", "{}"), SaidCall("", "shell", "{}")))))
    assert isinstance(ended, Reply)
    assert [call.id for call in ended.calls] == ["", ""]


# -- networks and cancelling --


async def test_a_server_without_tls_behind_an_https_address_is_a_network_failure() -> None:
    with serving(FINE) as server:
        config = ModelConfig(base_url=server.url.replace("http:", "https:"), retry=RetryBudget(per_turn=0))
        model = open_model("anthropic:m", config, ENVIRONMENT)
        with pytest.raises(ModelFailed) as failed:
            await model.reply(first_turn())
        await close_model(model)
    assert failed.value.kind == "network"


async def test_a_proxy_that_wants_a_password_is_not_retried() -> None:
    ended, requests = await outcome("openai-chat", Refuses(407), again=True)
    assert isinstance(ended, ModelFailed)
    assert (ended.kind, ended.final, requests) == ("proxy", False, 1)


@every_wire
async def test_a_turn_can_be_cancelled_while_its_answer_streams(wire: Wire) -> None:
    with serving(Pings(CALLING, 5), FINE) as server:
        async with talking(server, wire) as model:
            with anyio.CancelScope() as scope:
                await model.reply(first_turn(), lambda _: scope.cancel())
            assert scope.cancelled_caught
            assert (await model.reply(first_turn())).text == "fine"


@every_wire
async def test_two_roles_may_call_one_model_at_the_same_time(wire: Wire) -> None:
    replies: dict[str, str] = {}
    with serving(Says(CALLING, gap_secs=0.01), again=True) as server:
        async with talking(server, wire) as model, anyio.create_task_group() as group:

            async def ask(role: str) -> None:
                replies[role] = (await model.reply(replace(first_turn(f"I am {role}"), role=role))).text

            for role in ("worker:a", "worker:b", "worker:c"):
                group.start_soon(ask, role)
    assert set(replies.values()) == {"I look."}
    assert {role for role in replies for received in server.received if f"I am {role}".encode() in received.body} == {
        *replies
    }


@pytest.mark.parametrize("wanted", [b'"temperature":0', b"/chat/completions"], ids=["a field", "a path"])
async def test_an_adaptation_of_one_turn_does_not_fail_parallel_turns(wanted: bytes) -> None:
    together = threading.Barrier(3)
    refusal = Refuses(404, b"not found") if wanted.startswith(b"/") else NO_TEMPERATURE

    def decide(received: Received) -> Act:
        if wanted not in received.path.encode() + received.body:
            return FINE
        together.wait(timeout=60)
        return refusal

    texts: list[str] = []
    with serving(Decides(decide), again=True) as server:
        async with talking(server, "openai-chat", name="openai:m") as model, anyio.create_task_group() as group:

            async def ask(role: str) -> None:
                texts.append((await model.reply(replace(first_turn(), role=role))).text)

            for role in ("worker:a", "worker:b", "worker:c"):
                group.start_soon(ask, role)
    assert texts == ["fine"] * 3
    assert len(server.received) == 6
