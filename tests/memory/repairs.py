"""Repairs for tests: a failure as a compiler prints it, and a change that fixed it."""

from typing import Any

from donewhen.memory.repair import Repair, repair, sanitise_signature
from donewhen.memory.signature import Signature, signature_of


def log(name: str = "tax", file: str = "shop.c") -> str:
    return f"{file}:4:12: error: '{name}' undeclared (first use in this function)\n"


def failure(name: str = "tax", check: str = "build", file: str = "shop.c") -> Signature:
    return sanitise_signature(signature_of(log(name, file), check))


def patch(name: str = "tax", line: int = 1) -> str:
    return (
        f"diff --git a/shop.c b/shop.c\nindex {'1' * 40}..{'2' * 40} 100644\n--- a/shop.c\n+++ b/shop.c\n"
        f"@@ -{line} +{line},2 @@\n int a;\n+int {name};\n"
    )


def learnt(signature: Signature | None = None, said: str = "declared it", **more: Any) -> Repair:
    origin = {"repo": "/r", "model": "m", "session": "s1", "round": 1, "at": "2026-01-01T00:00:00Z"}
    changed = more.pop("patch", patch())
    known = repair(signature=signature or failure(), approach=said, patch=changed, origin={**origin, **more})
    assert known is not None
    return known
