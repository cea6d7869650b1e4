"""Models of all other providers, through the direct requests of pydantic-ai. Loaded only when such a model is opened.

Unlike the native wires, the library serialises the whole conversation again for each turn. Deadlines, retries and error
kinds are those of donewhen. The library itself reads keys from the environment, and addresses unless one is configured.
"""

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import httpx2
from openai import OpenAIError
from pydantic_ai import direct, exceptions
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model as LibraryModel
from pydantic_ai.models import ModelRequestParameters, StreamedResponse, infer_model
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from donewhen.errors import BadInput
from donewhen.model.deadlines import Deadlines
from donewhen.model.interface import Answers, Assistant, Message, OnText, Reply, Turn, Usage, User
from donewhen.model.name import ModelName
from donewhen.model.partial_reply import PartialCall, PartialReply, Stop
from donewhen.model.request_error import LONGEST_MESSAGE, RequestError, classify_response, remove_secrets
from donewhen.model.retries import Retries
from donewhen.model.turn import Answerer, TurnRunner
from donewhen.model.wires.pydantic_address import provider_at, secrets_at
from donewhen.model.wires.wire import arguments_of, original_items, wire_id, wire_name

TAG = "pydantic"
EXTRA = re.compile(r"pydantic-ai-slim\[([a-z-]+)\]")
OWN_EXTRAS = ("anthropic", "google")
"""Extras of the library that are extras of donewhen too."""
STOPS: Mapping[str, Stop] = {"stop": "done", "tool_call": "calls", "length": "length"}


def open_other(name: str, base_url: str, deadlines: Deadlines, retries: Retries) -> "OtherModel":
    """Return a model of a provider without a native wire. Raise `BadInput` if the library cannot use it."""
    provider = ModelName.parse(name).provider
    try:
        infer_provider_class(provider)
    except ImportError:
        pass  # the provider is known; the code below reports what must be installed
    except ValueError:
        raise BadInput(f"{name}: unknown provider '{provider}'; see: donewhen models") from None
    try:
        library = infer_model(name, provider_at(base_url))
    except ImportError as error:
        raise BadInput(f"{name}: {_missing(str(error))}") from error
    except (exceptions.UserError, OpenAIError, ValueError) as error:
        message = remove_secrets(secrets_at(base_url), " ".join(str(error).split()))
        raise BadInput(f"{name}: {message[:LONGEST_MESSAGE]}") from error
    return OtherModel(name, library, deadlines, retries, secrets_at(base_url, library))


def _missing(message: str) -> str:
    """Return what to install, from the library's words about a missing package."""
    found = EXTRA.search(message)
    if found is None:
        return " ".join(message.split())[:LONGEST_MESSAGE]
    return f"install {'donewhen' if found[1] in OWN_EXTRAS else 'pydantic-ai-slim'}[{found[1]}]"


@dataclass(slots=True)
class OtherModel:
    name: str
    library: LibraryModel
    deadlines: Deadlines
    retries: Retries
    secrets: frozenset[str] = field(repr=False)
    accepts_temperature: bool = True

    async def reply(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        provider, model = ModelName.parse(self.name)
        by = Answerer(self.name, model, provider)
        runner = TurnRunner(by, self.retries, self.retries.clock, self.deadlines.total, self.secrets)
        known_ids = {call.id for message in turn.messages if isinstance(message, Assistant) for call in message.calls}
        await runner.run(lambda: self._ask(turn, on_text), known_ids - {""}, self._adapt)
        return runner.reply(TAG)

    async def close(self) -> None:
        async with self.library:
            pass  # leaving the context closes the connections of the library

    async def _ask(self, turn: Turn, on_text: OnText | None) -> PartialReply:
        streams: list[StreamedResponse] = []
        try:
            return await self._answer(turn, on_text, streams.append)
        except RequestError as error:
            error.usage = _usage(streams[-1].usage) if streams else Usage()
            raise

    async def _answer(
        self, turn: Turn, on_text: OnText | None, on_begin: Callable[[StreamedResponse], None]
    ) -> PartialReply:
        limits = self.deadlines
        watch = anyio.CancelScope(deadline=anyio.current_time() + limits.first_event)
        with anyio.move_on_after(limits.total), watch, _as_request_errors():
            request = direct.model_request_stream(
                self.library,
                list(self._messages(turn)),
                model_settings=self._settings(turn),
                model_request_parameters=ModelRequestParameters(function_tools=[*_tools(turn)]),
            )
            async with request as stream:
                on_begin(stream)
                async for event in stream:
                    watch.deadline = anyio.current_time() + limits.silence
                    piece = _text_of(event)
                    if on_text and piece:
                        on_text(piece)
                return self._draft(stream.get())
        raise RequestError("the response did not come in time", "timeout", retry=True)

    def _settings(self, turn: Turn) -> ModelSettings:
        settings = ModelSettings(max_tokens=turn.max_tokens)
        if self.accepts_temperature:
            settings["temperature"] = turn.temperature
        return settings

    def _adapt(self, error: RequestError) -> bool:
        if error.kind == "bad_request" and self.accepts_temperature and "temperature" in error.message:
            self.accepts_temperature = False
            return True
        return False

    def _messages(self, turn: Turn) -> Iterator[ModelMessage]:
        for message in turn.messages:
            yield self._message(message, turn.system)

    def _message(self, message: Message, system: str) -> ModelMessage:
        match message:
            case User(text):
                return ModelRequest(parts=[UserPromptPart(text)], instructions=system)
            case Answers(answers):
                parts = [
                    ToolReturnPart(wire_name(answer.name), answer.text, wire_id(answer.call_id)) for answer in answers
                ]
                return ModelRequest(parts=parts, instructions=system)
            case Assistant(text, calls):
                if items := original_items(message, TAG, ModelName.parse(self.name).name):
                    return _original_response(items, message)
                parts = [TextPart(text)] if text or not calls else []
                return ModelResponse(parts=[*parts, *_call_parts(message)])

    def _draft(self, response: ModelResponse) -> PartialReply:
        calls = [
            PartialCall(part.tool_call_id, part.tool_name, part.args_as_json_str())
            for part in response.parts
            if isinstance(part, ToolCallPart)
        ]
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        reason = response.finish_reason
        if reason == "content_filter":
            raise RequestError("the provider's filter stopped the response", "refused")
        if reason not in STOPS and (calls or reason is not None):
            raise RequestError(f"the response finished for an unknown reason, {reason!r}", "malformed", retry=True)
        stop: Stop = "length" if reason == "length" else "calls" if calls else "done"
        return PartialReply(text, calls, _usage(response.usage), stop, _raw(response))


def _usage(usage: RequestUsage) -> Usage:
    return Usage(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)


def _tools(turn: Turn) -> Iterator[ToolDefinition]:
    for tool in turn.tools:
        yield ToolDefinition(
            name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters), strict=False
        )


def _text_of(event: object) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case _:
            return ""


def _call_parts(message: Assistant) -> list[ModelResponsePart]:
    return [ToolCallPart(wire_name(call.name), arguments_of(call), wire_id(call.id)) for call in message.calls]


def _original_response(items: list[dict[str, Any]], message: Assistant) -> ModelResponse:
    """Return the message in the library's form, with the ids and inputs of our calls."""
    (response,) = ModelMessagesTypeAdapter.validate_python(items)
    assert isinstance(response, ModelResponse)
    calls = iter(_call_parts(message))
    parts = [
        replace(part, tool_call_id=call.tool_call_id, args=call.args)
        if isinstance(part, ToolCallPart) and isinstance(call := next(calls), ToolCallPart)
        else part
        for part in response.parts
    ]
    return replace(response, parts=parts)


def _raw(response: ModelResponse) -> list[Any] | None:
    """Return the complete response if it contains more than text and calls; else None."""
    plain = all(type(part) in (TextPart, ToolCallPart) and not part.provider_details for part in response.parts)
    return None if plain else ModelMessagesTypeAdapter.dump_python([response], mode="json")


@contextmanager
def _as_request_errors() -> Generator[None]:
    """Convert errors of the library into `RequestError`."""
    try:
        yield
    except exceptions.ModelHTTPError as error:
        headers = dict(error.headers or {})
        body = json.dumps({"error": error.body}, default=str).encode() if error.body else str(error).encode()
        raise classify_response(error.status_code, headers, body, now=0.0) from error
    except exceptions.ContentFilterError as error:
        raise RequestError(str(error), "refused") from error
    except exceptions.ModelAPIError as error:
        raise RequestError(str(error), "network", retry=True, after=error.retry_after) from error
    except exceptions.UnexpectedModelBehavior as error:
        raise RequestError(str(error), "malformed", retry=True) from error
    except exceptions.UserError as error:
        raise RequestError(str(error), "bad_request", final=True) from error
    except httpx2.HTTPError as error:
        raise RequestError(str(error), "network", retry=True) from error
    except ValueError as error:
        raise RequestError(f"the response cannot be read: {error}", "malformed", retry=True) from error
