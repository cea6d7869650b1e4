"""Names of models: the provider and the rest, whatever was typed."""

import pytest

from donewhen.model.name import ModelName


@pytest.mark.parametrize(
    ("text", "name", "has_server"),
    [
        ("openai:gpt-5", ModelName("openai", "gpt-5"), True),
        ("ollama:qwen3:8b", ModelName("ollama", "qwen3:8b"), True),
        ("auto", ModelName("auto", ""), True),
        ("scripted:a:b.json", ModelName("scripted", "a:b.json"), False),
        ("replay:1234", ModelName("replay", "1234"), False),
        ("", ModelName("", ""), True),
    ],
)
def test_a_name_is_split_at_its_first_colon(text: str, name: ModelName, has_server: bool) -> None:
    assert ModelName.parse(text) == name
    assert name.has_server is has_server
