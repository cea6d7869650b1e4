"""Construction of models for providers with a native wire: address, key, wire and transport.

`providers` lists these providers; `native_model` runs the turns.
"""

from collections.abc import Mapping

from donewhen.model.clock import Clock
from donewhen.model.deadlines import Deadlines, RetryBudget
from donewhen.model.name import ModelName
from donewhen.model.native_model import Endpoint, NativeModel
from donewhen.model.providers import PROVIDERS, Address, Provider, address_of, key_of
from donewhen.model.retries import Retries
from donewhen.model.transport import Transport
from donewhen.model.turn import Answerer
from donewhen.model.wires.anthropic import Anthropic
from donewhen.model.wires.google import Google
from donewhen.model.wires.openai_chat import OpenAIChat
from donewhen.model.wires.openai_responses import OpenAIResponses
from donewhen.model.wires.wire import Wire


def open_native(
    name: str,
    base_url: str,
    limits: tuple[Deadlines, RetryBudget],
    environment: Mapping[str, str],
    clock: Clock,
) -> NativeModel:
    provider = PROVIDERS[ModelName.parse(name).provider]
    address = address_of(provider, base_url, environment)
    key = key_of(name, provider, address, environment)
    endpoint = Endpoint(_base(address, provider.wire), key, _about_key(provider, environment))
    wires = _wires(name, address.is_official)
    answerer = Answerer(name, wires[0].model, provider.prices)
    deadlines, retry = limits
    return NativeModel(answerer, endpoint, wires, Transport(deadlines, clock), Retries(retry, clock))


def _about_key(provider: Provider, environment: Mapping[str, str]) -> str:
    for variable in provider.key_variables:
        if environment.get(variable, "").strip():
            return f"the key is from {variable}"
    return f"no key was sent: set {' or '.join(provider.key_variables)}"


def _base(address: Address, wire: str) -> str:
    """Return the base address. The paths of two wires begin with the version, so it is removed from the address."""
    endings = {"anthropic": "/v1", "google": "/v1beta"}
    return address.url.removesuffix(endings[wire]) if wire in endings else address.url


def _wires(name: str, is_official: bool) -> list[Wire]:
    family, model = ModelName.parse(name)
    match PROVIDERS[family].wire:
        case "anthropic":
            return [Anthropic(model)]
        case "google":
            return [Google(model)]
        case "openai_chat":
            return [OpenAIChat(model, is_official)]
        case "openai_responses" if is_official or family == "openai-responses":
            return [OpenAIResponses(model)]
        case "openai_responses":
            # Servers that imitate OpenAI's support the older wire; only some support the newer one.
            return [OpenAIChat(model), OpenAIResponses(model)]
