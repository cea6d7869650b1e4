"""The methods about the memory: a part of the table in `methods`. Each loads what it needs when it is used."""

from collections.abc import Iterator
from typing import Any

from donewhen.session.log.open_archive import Say, silent


def memory_list(words: str = "", repo: str = "", say: Say = silent) -> list[dict[str, Any]]:
    from donewhen.session.verbs import memory

    return memory.memory_list(words, repo, say)


def memory_texts(tag: str, say: Say = silent) -> list[dict[str, Any]]:
    from donewhen.session.verbs import memory

    return memory.memory_texts(tag, say)


def memory_forget_texts(tag: str, say: Say = silent) -> int:
    from donewhen.session.verbs import memory

    return memory.memory_forget_texts(tag, say)


def memory_show(id: str, say: Say = silent) -> dict[str, Any]:
    from donewhen.session.verbs import memory

    return memory.memory_show(id, say)


def memory_recall(log: str, check: str = "", repo: str = "", say: Say = silent) -> dict[str, Any] | None:
    from donewhen.session.verbs import memory

    return memory.memory_recall(log, check, repo, say)


def memory_forget(ids: list[str], every: bool = False, say: Say = silent) -> int:
    from donewhen.session.verbs import memory

    return memory.memory_forget(ids, every, say)


def memory_export(say: Say = silent) -> Iterator[str]:
    from donewhen.session.verbs import memory

    return memory.memory_export(say)


def memory_import(name: str, content: bytes, say: Say = silent) -> tuple[int, int]:
    from donewhen.session.verbs import memory

    return memory.memory_import(name, content, say)


def memory_signature(log: bytes, check: str = "") -> dict[str, Any]:
    """Return the failure signature of a log."""
    from donewhen.memory.signature import signature_of

    return signature_of(log, check).as_json()
