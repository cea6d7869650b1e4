"""Models of the providers that have a wire of ours, put together: address, key, wire, transport.

Which providers these are is data in `providers`; what is done with a turn is `wired`'s matter.
"""

from collections.abc import Mapping

from donewhen.model.asking import Answerer
from donewhen.model.limits import Deadlines, RetryBudget
from donewhen.model.outside import Outside
from donewhen.model.providers import PROVIDERS, Address, Provider, address_of, key_of
from donewhen.model.retrying import Retries
from donewhen.model.transport import Transport
from donewhen.model.wired import Endpoint, WiredModel
from donewhen.model.wires.anthropic import Anthropic
from donewhen.model.wires.base import Wire
from donewhen.model.wires.google import Google
from donewhen.model.wires.openai_chat import OpenAIChat
from donewhen.model.wires.openai_responses import OpenAIResponses


def open_wired(
    name: str,
    base_url: str,
    limits: tuple[Deadlines, RetryBudget],
    environment: Mapping[str, str],
    outside: Outside,
) -> WiredModel:
    provider = PROVIDERS[name.partition(":")[0]]
    address = address_of(provider, base_url, environment)
    key = key_of(name, provider, address, environment)
    endpoint = Endpoint(_base(address, provider.wire), key, _about_key(provider, environment))
    wires = _wires(name, address.at_home)
    answerer = Answerer(name, wires[0].model, provider.prices)
    deadlines, retry = limits
    return WiredModel(answerer, endpoint, wires, Transport(deadlines, outside), Retries(retry, outside))


def _about_key(provider: Provider, environment: Mapping[str, str]) -> str:
    for variable in provider.key_variables:
        if environment.get(variable, "").strip():
            return f"the key is that of {variable}"
    return f"no key was sent: set {' or '.join(provider.key_variables)}"


def _base(address: Address, wire: str) -> str:
    """The paths of two wires begin with the version; an address that ends in it is meant all the same."""
    endings = {"anthropic": "/v1", "google": "/v1beta"}
    return address.url.removesuffix(endings[wire]) if wire in endings else address.url


def _wires(name: str, at_home: bool) -> list[Wire]:
    family, _, model = name.partition(":")
    match PROVIDERS[family].wire:
        case "anthropic":
            return [Anthropic(model)]
        case "google":
            return [Google(model)]
        case "openai_chat":
            return [OpenAIChat(model, at_home)]
        case "openai_responses" if at_home or family == "openai-responses":
            return [OpenAIResponses(model)]
        case "openai_responses":
            # Servers that are like OpenAI's have the older wire, and only some have the newer one.
            return [OpenAIChat(model), OpenAIResponses(model)]
