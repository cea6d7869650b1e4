"""How complex an intent looks, by its words alone: whether an agent is worth looking for. Pure, and only a guess."""

import re

MANY_WORDS = 120
MANY_ITEMS = 3
WIDE = re.compile(
    r"\b(refactor\w*|re-?writ\w+|redesign\w*|re-?architect\w*|architecture|migrat\w+|port(?:ing)? (?:it |this )?to|"
    r"convert \w+ to|overhaul\w*|end[- ]to[- ]end|from scratch|across|throughout|every(?:where| module| file)|"
    r"all (?:modules|files|packages|services|callers)|multiple (?:files|modules|services)|several (?:files|modules))\b",
    re.IGNORECASE,
)
ITEM = re.compile(r"^[ \t]*(?:[-*•]|\d+[.)])\s+\S", re.MULTILINE)


def looks_complex(intent: str) -> bool:
    """Wide in what it touches, long, or a list of several things."""
    return (
        len(intent.split()) > MANY_WORDS or len(ITEM.findall(intent)) >= MANY_ITEMS or WIDE.search(intent) is not None
    )
