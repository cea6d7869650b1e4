"""Every other provider that pydantic-ai knows, through its direct requests. Loaded only when such a model is opened.

It serialises the whole conversation anew for each turn, which our own wires do not. Deadlines, retries and the kinds of
failure are ours here, too; keys are read from the environment by the library itself, and so are addresses unless one is
configured.
"""

import json
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
from donewhen.model.asking import Answerer, Asking
from donewhen.model.base import Answers, Assistant, Message, Reply, Said, Turn, Usage, User
from donewhen.model.draft import Draft, Stop, Wish
from donewhen.model.limits import Deadlines
from donewhen.model.retrying import Retries
from donewhen.model.setback import Setback, of_response
from donewhen.model.wires.base import arguments_of, own_items, wire_id, wire_name
from donewhen.model.wires.pydantic_address import provider_at

TAG = "pydantic"
STOPS: Mapping[str, Stop] = {"stop": "done", "tool_call": "calls", "length": "length"}


def open_other(name: str, base_url: str, deadlines: Deadlines, retries: Retries) -> "OtherModel":
    """A model of a provider that has no wire of ours; `BadInput` when the library does not know or cannot use it."""
    provider = name.partition(":")[0]
    try:
        infer_provider_class(provider)
    except ImportError:
        pass  # it is known; what has to be installed is told below
    except ValueError:
        raise BadInput(f"{name}: there is no provider '{provider}'; `donewhen models` names some") from None
    try:
        return OtherModel(name, infer_model(name, provider_at(base_url)), deadlines, retries)
    except (ImportError, exceptions.UserError, OpenAIError, ValueError) as error:
        raise BadInput(f"{name}: {' '.join(str(error).split())[:300]}") from error


@dataclass(slots=True)
class OtherModel:
    name: str
    library: LibraryModel
    deadlines: Deadlines
    retries: Retries
    takes_temperature: bool = True

    async def reply(self, turn: Turn, said: Said | None = None) -> Reply:
        provider, _, model = self.name.partition(":")
        by = Answerer(self.name, model, provider)
        asking = Asking(by, self.retries, self.retries.outside, self.deadlines.total)
        known_ids = {call.id for message in turn.messages if isinstance(message, Assistant) for call in message.calls}
        await asking.settle(lambda: self._ask(turn, said), known_ids - {""}, self._gives_way)
        return asking.reply(TAG)

    async def close(self) -> None:
        async with self.library:
            pass  # leaving it closes the connections that the library keeps

    async def _ask(self, turn: Turn, said: Said | None) -> Draft:
        begun: list[StreamedResponse] = []
        try:
            return await self._answer(turn, said, begun.append)
        except Setback as setback:
            setback.usage = _usage(begun[-1].usage) if begun else Usage()
            raise

    async def _answer(self, turn: Turn, said: Said | None, begins: Callable[[StreamedResponse], None]) -> Draft:
        limits = self.deadlines
        watch = anyio.CancelScope(deadline=anyio.current_time() + limits.first_event)
        with anyio.move_on_after(limits.total), watch, _setbacks():
            request = direct.model_request_stream(
                self.library,
                list(self._messages(turn)),
                model_settings=self._settings(turn),
                model_request_parameters=ModelRequestParameters(function_tools=[*_tools(turn)]),
            )
            async with request as stream:
                begins(stream)
                async for event in stream:
                    watch.deadline = anyio.current_time() + limits.silence
                    piece = _text_of(event)
                    if said and piece:
                        said(piece)
                return self._draft(stream.get())
        raise Setback("the answer did not come in time", "timeout", retry=True)

    def _settings(self, turn: Turn) -> ModelSettings:
        settings = ModelSettings(max_tokens=turn.max_tokens)
        if self.takes_temperature:
            settings["temperature"] = turn.temperature
        return settings

    def _gives_way(self, setback: Setback) -> bool:
        if setback.kind == "bad_request" and self.takes_temperature and "temperature" in setback.message:
            self.takes_temperature = False
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
                if items := own_items(message, TAG, self.name.partition(":")[2]):
                    return _as_it_came(items, message)
                said = [TextPart(text)] if text or not calls else []
                return ModelResponse(parts=[*said, *_call_parts(message)])

    def _draft(self, response: ModelResponse) -> Draft:
        wishes = [
            Wish(part.tool_call_id, part.tool_name, part.args_as_json_str())
            for part in response.parts
            if isinstance(part, ToolCallPart)
        ]
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        reason = response.finish_reason
        if reason == "content_filter":
            raise Setback("the provider's filter stopped the answer", "refused")
        if reason not in STOPS and (wishes or reason is not None):
            raise Setback(f"the answer finished for an unknown reason, {reason!r}", "malformed", retry=True)
        stop: Stop = "length" if reason == "length" else "calls" if wishes else "done"
        return Draft(text, wishes, _usage(response.usage), stop, _raw(response))


def _usage(told: RequestUsage) -> Usage:
    return Usage(told.input_tokens, told.output_tokens, told.cache_read_tokens, told.cache_write_tokens)


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


def _as_it_came(items: list[dict[str, Any]], message: Assistant) -> ModelResponse:
    """The library's own form, the calls in it with the ids and inputs that they have here."""
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
    """All of it, when there is more in it than text and calls."""
    plain = all(type(part) in (TextPart, ToolCallPart) and not part.provider_details for part in response.parts)
    return None if plain else ModelMessagesTypeAdapter.dump_python([response], mode="json")


@contextmanager
def _setbacks() -> Generator[None]:
    """The library's errors in our kinds."""
    try:
        yield
    except exceptions.ModelHTTPError as error:
        headers = dict(error.headers or {})
        body = json.dumps({"error": error.body}, default=str).encode() if error.body else str(error).encode()
        raise of_response(error.status_code, headers, body, now=0.0) from error
    except exceptions.ContentFilterError as error:
        raise Setback(str(error), "refused") from error
    except exceptions.ModelAPIError as error:
        raise Setback(str(error), "network", retry=True, after=error.retry_after) from error
    except exceptions.UnexpectedModelBehavior as error:
        raise Setback(str(error), "malformed", retry=True) from error
    except exceptions.UserError as error:
        raise Setback(str(error), "bad_request", final=True) from error
    except httpx2.HTTPError as error:
        raise Setback(str(error), "network", retry=True) from error
    except ValueError as error:
        raise Setback(f"the answer cannot be read: {error}"[:300], "malformed", retry=True) from error
