"""Name of a model: PROVIDER:NAME in the spelling of pydantic-ai, or `scripted:FILE`, `replay:SESSION`, `auto`. Pure."""

from typing import NamedTuple, Self

WITHOUT_SERVER = ("scripted", "replay")
"""Providers whose models send nothing to a server."""


class ModelName(NamedTuple):
    provider: str
    name: str = ""
    """Empty if the text has no colon, as `auto`."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the parts of a text, whatever it is. Whether there is such a model is decided by `open_model`."""
        provider, _, name = text.partition(":")
        return cls(provider, name)

    @property
    def has_server(self) -> bool:
        return self.provider not in WITHOUT_SERVER
