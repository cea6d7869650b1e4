"""Every call of a session gets an id of its own: the model's where it gave one that is new, else one by its place."""

from collections.abc import Collection
from dataclasses import replace

from donewhen.model.base import Reply


def with_ids(reply: Reply, taken: Collection[str], place: str) -> Reply:
    """The reply with an id for every call. Its wire puts them into the provider's own form of the message as well."""
    used = set(taken)
    calls = list(reply.calls)
    for index, call in enumerate(calls):
        wanted = call.id
        if not wanted or wanted in used:
            wanted = _free(f"call-{place}-{index}", used)
        used.add(wanted)
        calls[index] = replace(call, id=wanted)
    return replace(reply, calls=tuple(calls))


def _free(name: str, used: Collection[str]) -> str:
    while name in used:
        name += "-again"
    return name
