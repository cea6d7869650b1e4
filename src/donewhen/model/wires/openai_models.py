"""Properties of OpenAI models, derived from their names. Unknown names count as models without reasoning."""

import re

REASONING = re.compile(r"(?:.*/)?(?:o\d|gpt-[5-9]|gpt-\d\d|codex|computer-use)(?!.*-chat)")


def is_reasoning_model(model: str) -> bool:
    """Return True for a reasoning model: it refuses a temperature and needs its reasoning sent back."""
    return REASONING.match(model) is not None
