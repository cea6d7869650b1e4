"""One request to a forge: gidgethub, with the host pinned, the answer bounded, limits and retries, and our errors.

gidgethub sends the token to every absolute address that it gets, for example from a `Link` field. Here a request to
another place than `base_url` is refused before it is made, and no redirect is followed.

A request that only reads is repeated after a time-out, a broken connection or a failure of the server. A request that
writes raises `Unknown` then: it may have had its effect, and only the caller knows how to look.
"""

import json
from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

import anyio
import httpx2
from gidgethub.httpx import GitHubAPI
from gidgethub.sansio import accept_format

from donewhen.loops.forge.access import Patience, Token
from donewhen.loops.forge.answer_values import list_of
from donewhen.loops.forge.forge import ForgeFailed, Later
from donewhen.loops.forge.limits import wait_secs
from donewhen.loops.forge.remote import ForgePlace
from donewhen.printable import one_line, shortened
from donewhen.records import frozen

API_VERSION = "2022-11-28"
LARGEST_ANSWER = 32 << 20
LONGEST_MESSAGE = 200
MOST_ERRORS = 5
READS = ("GET", "HEAD")


class Unknown(ForgeFailed):
    """A request that writes got no usable answer. Whether it had its effect is not known."""


@frozen
class _Answer:
    status: int
    """0 if there was none."""
    fields: Mapping[str, str]
    body: bytes
    problem: str = ""


class ForgeApi(GitHubAPI):
    def __init__(self, client: httpx2.AsyncClient, place: ForgePlace, token: Token, patience: Patience) -> None:
        super().__init__(client, "donewhen", oauth_token=token.secret, base_url=place.api_url)
        self.place = place
        self.token = token
        self.patience = patience

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Mapping[str, str], bytes]:
        if _origin(url) != _origin(self.base_url):
            raise ForgeFailed(f"{_host(self.base_url)} named another server, {_host(url)}; it gets no token")
        waited = self.patience.first_wait_secs
        for attempt in range(1, self.patience.tries + 1):
            answer = await self._send(method, url, {**headers, "x-github-api-version": API_VERSION}, body)
            if 0 < answer.status < 300:
                return answer.status, answer.fields, answer.body
            wait = wait_secs(answer.status, answer.fields, answer.body[:LARGEST_ANSWER].decode("utf-8", "replace"))
            is_broken = answer.status == 0 or answer.status >= 500
            if wait is None and not is_broken:
                raise self._refusal(answer)
            if is_broken and method not in READS:
                raise Unknown(self._failure(answer), answer.status)
            wait = waited if wait is None else wait
            if attempt == self.patience.tries or wait > self.patience.longest_wait_secs:
                raise Later(self._failure(answer), wait, answer.status)
            await anyio.sleep(wait)
            waited *= 2
        raise AssertionError("the last attempt returns or raises")

    async def _send(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> _Answer:
        limit = self.patience.timeout_secs
        try:
            with anyio.fail_after(limit):
                async with self._client.stream(method, url, headers=dict(headers), content=body) as response:
                    content = bytearray()
                    async for chunk in response.aiter_bytes():
                        content += chunk
                        if len(content) > LARGEST_ANSWER:
                            return _Answer(0, {}, b"", f"the answer is larger than {LARGEST_ANSWER >> 20} MiB")
                    return _Answer(response.status_code, response.headers, bytes(content))
        except (TimeoutError, httpx2.TimeoutException):
            return _Answer(0, {}, b"", f"no answer within {limit:g} seconds")
        except httpx2.HTTPError as error:
            return _Answer(0, {}, b"", f"no answer: {error or type(error).__name__}")

    async def pages(self, url: str, most: int) -> tuple[list[object], bool]:
        """Return the items of at most so many pages of a list, and whether that is all of it."""
        found: list[object] = []
        following: str | None = url
        for _ in range(most):
            items, following, _ = await self._make_request("GET", following, None, b"", accept_format())
            found += list_of(items)
            if following is None:
                return found, True
        return found, False

    def _failure(self, answer: _Answer) -> str:
        """Return the line for an answer that may be another one later."""
        if answer.status in (403, 429):
            return f"the limit of {_host(self.base_url)} is reached ({answer.status})"
        what = f"it failed with {answer.status}" if answer.status else self._clean(answer.problem)
        return f"{_host(self.base_url)}: {what}"

    def _refusal(self, answer: _Answer) -> ForgeFailed:
        repository, variable, said = self.place.repository, self.place.token_env, self._message(answer.body)
        host = _host(self.base_url)
        match answer.status:
            case 401:
                line = f"{host} does not accept the token in {variable}{said}"
            case 403:
                line = f"the token in {variable} has no right to do this in {repository}{said}"
            case 404 | 410:
                line = f"there is no {repository} at {host}, or the token in {variable} may not see it{said}"
            case status if status < 400:
                line = f"{repository} has moved: set the url of the remote to its new address"
            case status:
                line = f"{host} refused a request with {status}{said}"
        return ForgeFailed(line, answer.status)

    def _message(self, body: bytes) -> str:
        """Return what the server said, as the end of a line."""
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return ""
        answer = cast("dict[str, object]", value) if isinstance(value, dict) else {}
        parts = [answer.get("message"), *_errors(answer.get("errors"))]
        said = "; ".join(part for part in parts if isinstance(part, str) and part)
        return f": {self._clean(said)}" if said else ""

    def _clean(self, text: str) -> str:
        return shortened(one_line(self.token.hide(text)), LONGEST_MESSAGE)


def _errors(value: object) -> list[object]:
    """Return the messages of GitHub's `errors`: texts, or objects with `message`, `field` and `code`."""
    found: list[object] = []
    for one in cast("list[object]", value)[:MOST_ERRORS] if isinstance(value, list) else []:
        if isinstance(one, dict):
            entry = cast("dict[str, object]", one)
            found.append(entry.get("message") or f"{entry.get('field')}: {entry.get('code')}")
        else:
            found.append(one)
    return found


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"https": 443, "http": 80}.get(parts.scheme)


def _host(url: str) -> str:
    return shortened(one_line(urlsplit(url).netloc.rpartition("@")[2]))
