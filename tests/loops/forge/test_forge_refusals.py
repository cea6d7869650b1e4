"""Refusals and limits of a forge: each becomes one typed line, and what may pass is tried again a few times."""

import pytest

from donewhen.errors import BadInput
from donewhen.loops.forge.access import Patience, Token
from donewhen.loops.forge.connect import open_forge, token_for
from donewhen.loops.forge.forge import Forge, ForgeFailed, Later
from donewhen.loops.forge.limits import LONGEST_SECS, SECONDARY_SECS, wait_secs
from donewhen.loops.forge.remote import ForgePlace, Remote, forge_place
from forge_server import Answers, Drops, Fault, ForgeServer, Hangs
from tables import every_row

pytestmark = pytest.mark.anyio
DATE = "Wed, 18 Nov 2026 10:00:00 GMT"
AT = 1_794_996_000
"""The same moment."""


async def failure(forge: Forge) -> ForgeFailed:
    with pytest.raises(ForgeFailed) as refused:
        await forge.marked_pulls()
    assert "\n" not in str(refused.value)
    return refused.value


async def test_a_wrong_token_is_named_by_its_variable(place: ForgePlace) -> None:
    async with open_forge(place, Token("FORGE_TOKEN", "ghp_wrong")) as forge:
        refused = await failure(forge)
    assert refused.status == 401
    assert "does not accept the token in FORGE_TOKEN: Bad credentials" in str(refused)


async def test_a_missing_right_is_not_tried_again(server: ForgeServer, forge: Forge) -> None:
    server.fail("pulls/list", Answers(403, "Resource not accessible by personal access token"))
    refused = await failure(forge)
    assert refused.status == 403
    assert "the token in FORGE_TOKEN has no right to do this in octo/widgets: Resource not accessible" in str(refused)
    assert server.count("pulls/list") == 1


async def test_only_the_token_of_an_app_may_not_know_its_owner(server: ForgeServer, forge: Forge) -> None:
    server.fail("users/get-authenticated", Answers(403, "Resource protected by organization SAML enforcement"))
    with pytest.raises(ForgeFailed, match="has no right to do this in octo/widgets: Resource protected"):
        await forge.me()


async def test_a_repository_that_is_not_there_may_also_be_hidden(server: ForgeServer, token: Token) -> None:
    place = forge_place(Remote("127.0.0.1", "octo", "other"), server.url, "FORGE_TOKEN", "github")
    async with open_forge(place, token) as forge:
        refused = await failure(forge)
    assert refused.status == 404
    assert "there is no octo/other at 127.0.0.1:" in str(refused)
    assert "or the token in FORGE_TOKEN may not see it" in str(refused)


async def test_a_repository_that_has_moved_is_not_followed(server: ForgeServer, forge: Forge) -> None:
    server.fail("pulls/list", Answers(301, headers={"Location": "http://127.0.0.1:1/elsewhere"}))
    assert "octo/widgets has moved" in str(await failure(forge))


async def test_what_a_server_says_cannot_forge_lines_or_show_the_token(
    server: ForgeServer, forge: Forge, token: Token
) -> None:
    server.fail("pulls/list", Answers(403, f"\x1b[2J\nall green {token.secret} " + "x" * 10_000))
    refused = str(await failure(forge))
    assert token.secret not in refused
    assert "[token]" in refused
    assert refused.isprintable()
    assert len(refused) < 400


@pytest.mark.parametrize(
    ("answer", "secs"),
    [
        (Answers(403, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{AT + 900}", "Date": DATE}), 900),
        (Answers(429, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{AT + 900}", "Date": DATE}), 900),
        (Answers(403, "You have exceeded a secondary rate limit", {"Retry-After": "120"}), 120),
        (Answers(403, "You have exceeded a secondary rate limit"), SECONDARY_SECS),
        (Answers(429), SECONDARY_SECS),
        (Answers(503, headers={"Retry-After": "300"}), 300),
    ],
    ids=["primary", "primary as 429", "secondary", "secondary without a time", "429 without a time", "maintenance"],
)
async def test_a_limit_says_when_to_come_back(server: ForgeServer, forge: Forge, answer: Answers, secs: float) -> None:
    server.fail("pulls/list", answer)
    refused = await failure(forge)
    assert isinstance(refused, Later)
    assert refused.seconds == secs
    assert f"try again in {secs:.0f} s" in str(refused)
    assert server.count("pulls/list") == 1


async def test_a_short_limit_is_waited_for(server: ForgeServer, forge: Forge) -> None:
    server.fail(
        "pulls/list", Answers(403, "secondary rate limit", {"Retry-After": "0"}), Answers(429, "", {"Retry-After": "0"})
    )
    assert await forge.marked_pulls() == ()
    assert server.count("pulls/list") == 3


@pytest.mark.parametrize("fault", [Answers(500), Answers(502), Answers(503), Drops(), Drops(after_effect=True)])
async def test_a_read_is_repeated_after_a_failure_of_the_server(
    server: ForgeServer, forge: Forge, fault: Fault
) -> None:
    server.fail("pulls/list", fault, fault)
    assert await forge.marked_pulls() == ()
    assert server.count("pulls/list") == 3


async def test_a_server_that_stays_broken_is_left_alone_after_a_few_requests(server: ForgeServer, forge: Forge) -> None:
    server.fail("pulls/list", *[Answers(502)] * 5)
    refused = await failure(forge)
    assert isinstance(refused, Later)
    assert "it failed with 502" in str(refused)
    assert server.count("pulls/list") == 3


async def test_a_server_that_does_not_answer_is_left_alone_after_a_few_requests(
    server: ForgeServer, place: ForgePlace, token: Token
) -> None:
    server.fail("pulls/list", Hangs(), Hangs())
    async with open_forge(place, token, Patience(tries=2, first_wait_secs=0.01, timeout_secs=0.2)) as forge:
        refused = await failure(forge)
    assert isinstance(refused, Later)
    assert "no answer within 0.2 seconds" in str(refused)
    assert server.count("pulls/list") == 2


async def test_a_server_that_is_not_there_is_a_reason_to_come_back(place: ForgePlace, token: Token) -> None:
    gone = forge_place(Remote("127.0.0.1", "octo", "widgets"), "http://127.0.0.1:1", "FORGE_TOKEN", "github")
    async with open_forge(gone, token, Patience(tries=2, first_wait_secs=0.01)) as forge:
        assert isinstance(await failure(forge), Later)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "the variable FORGE_TOKEN is not set"),
        ({"FORGE_TOKEN": " \n"}, "the variable FORGE_TOKEN is not set"),
        ({"FORGE_TOKEN": "a\nX-Evil: 1"}, "does not contain a token"),
        ({"FORGE_TOKEN": "a b"}, "does not contain a token"),
    ],
)
def test_a_token_that_is_not_there_is_one_line(place: ForgePlace, environment: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput, match=message) as refused:
        token_for(place, environment)
    assert "Evil" not in str(refused.value)


def test_a_token_is_not_shown_by_its_record(place: ForgePlace) -> None:
    token = token_for(place, {"FORGE_TOKEN": "ghp_secret\n"})
    assert token.secret == "ghp_secret"
    assert "ghp_secret" not in repr(token)


@every_row(
    [
        (200, {"retry-after": "5"}, None),
        (404, {"retry-after": "5"}, None),
        (403, {}, None),
        (403, {"x-ratelimit-remaining": "12", "x-ratelimit-reset": "9"}, None),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "many"}, None),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{AT - 5}", "date": DATE}, 0.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "9" * 12}, LONGEST_SECS),
        (429, {"retry-after": "Wed, 18 Nov 2026 10:01:30 GMT", "date": DATE}, 90.0),
        (429, {"retry-after": "-5"}, SECONDARY_SECS),
        (429, {"retry-after": "9" * 50}, SECONDARY_SECS),
        (502, {}, None),
    ]
)
def test_the_time_to_wait_is_read_from_any_field(row: tuple[int, dict[str, str], float | None]) -> None:
    status, fields, expected = row
    assert wait_secs(status, fields, "") == expected, row
