"""The methods about the memory of repairs, and about texts that are kept with tags. Each loads what it needs on use."""

from typing import TYPE_CHECKING, cast

from donewhen.server.methods.call_context import CallContext

if TYPE_CHECKING:
    from donewhen.server.methods.memory_results import (
        FailureSignature,
        HintText,
        Imported,
        RepairDetails,
        RepairEntry,
        TaggedTextEntry,
    )


def memory_list(context: CallContext, words: str = "", repo: str = "") -> "list[RepairEntry]":
    """Return the repairs, newest first: those with all of the words, made in the repository that contains a path."""
    from donewhen.session.verbs import memory

    return cast("list[RepairEntry]", memory.memory_list(words, repo, context.say))


def memory_texts(context: CallContext, tag: str) -> "list[TaggedTextEntry]":
    """Return the remembered texts with a tag, newest first."""
    from donewhen.session.verbs import memory

    return cast("list[TaggedTextEntry]", memory.memory_texts(tag, context.say))


def memory_forget_texts(context: CallContext, tag: str) -> int:
    """Remove the remembered texts with a tag. Return how many there were."""
    from donewhen.session.verbs import memory

    return memory.memory_forget_texts(tag, context.say)


def memory_show(context: CallContext, id: str) -> "RepairDetails":
    """Return everything that is known about one repair."""
    from donewhen.session.verbs import memory

    return cast("RepairDetails", memory.memory_show(id, context.say))


def memory_recall(context: CallContext, log: str, check: str = "", repo: str = "") -> "HintText | None":
    """Return the hint that a round would get for the failure in a log; None if there is none.

    It is the hint for a round in the repository `repo`; without one, the best of all. Asking is not counted.
    """
    from donewhen.session.verbs import memory

    return cast("HintText | None", memory.memory_recall(log, check, repo, context.say))


def memory_forget(context: CallContext, ids: list[str], every: bool = False) -> int:
    """Remove repairs by their ids, or all of them with `every`. Return how many were removed."""
    from donewhen.session.verbs import memory

    return memory.memory_forget(ids, every, context.say)


def memory_export(context: CallContext) -> list[str]:
    """Return every repair as a line of JSON, oldest first."""
    from donewhen.session.verbs import memory

    return list(memory.memory_export(context.say))


def memory_import(context: CallContext, content: str, name: str = "content") -> "Imported":
    """Add the repairs that an export returned elsewhere. What is known already stays as it is.

    `content` has one repair in each line. Messages call it by its `name`.
    """
    from donewhen.session.verbs import memory

    count, new = memory.memory_import(name, content.encode("utf-8", "surrogateescape"), context.say)
    return {"repairs": count, "new": new}


def memory_signature(log: str, check: str = "") -> "FailureSignature":
    """Return the failure signature of a log: of a check, or of a whole CI run. Nothing is run or stored."""
    from donewhen.memory.signature import signature_of

    return cast("FailureSignature", signature_of(log.encode("utf-8", "surrogateescape"), check).as_json())
