"""What the names of OpenAI's models tell about the fields that they take. Unknown names do not reason."""

import re

REASONING = re.compile(r"(?:.*/)?(?:o\d|gpt-[5-9]|gpt-\d\d|codex|computer-use)(?!.*-chat)")


def thinks(model: str) -> bool:
    """Whether the model reasons first: it then refuses a temperature, and wants its reasoning back."""
    return REASONING.match(model) is not None
