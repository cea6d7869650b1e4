"""Letting go of what a model keeps open between its turns, whichever model it is."""

from typing import Protocol, runtime_checkable

from donewhen.model.base import Model


@runtime_checkable
class Closable(Protocol):
    async def close(self) -> None: ...


async def close_model(model: Model) -> None:
    """To be called once, in the event loop that the turns were asked in; the model may be asked again afterwards."""
    if isinstance(model, Closable):
        await model.close()
