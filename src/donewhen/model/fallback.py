"""List of models: if one fails permanently, the next gets the same turn.

Once a model other than the first has answered, it is used for the rest of the conversation, because only its provider
has the beginning in its cache.
"""

from dataclasses import dataclass, field

from donewhen.model.interface import Bill, Model, ModelFailed, ModelWaits, OnText, Reply, Turn, close_model

FAULT_OF_THE_REQUEST = "bad_request"
"""The error kind that is not passed on to the next model: the request itself is wrong."""


@dataclass(slots=True)
class Fallback:
    models: tuple[Model, ...]
    _last_used: dict[str, tuple[Model, str]] = field(
        default_factory=dict[str, tuple[Model, str]], init=False, repr=False
    )
    """By role: the model that answers now, and why it is not the first."""

    @property
    def name(self) -> str:
        return self.models[0].name

    async def reply(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        failures: list[ModelFailed | ModelWaits] = []
        spent = Bill()
        current, why = self._last_used.get(turn.role, (self.models[0], ""))
        for model in (current, *(other for other in self.models if other is not current)):
            try:
                reply = await model.reply(turn, on_text)
            except (ModelFailed, ModelWaits) as failure:
                spent = failure.bill = spent + failure.bill
                if isinstance(failure, ModelFailed) and failure.kind == FAULT_OF_THE_REQUEST:
                    raise
                failures.append(failure)
                why = f"{model.name}: {failure}"
                continue
            why = "" if model is self.models[0] else why
            self._last_used[turn.role] = (model, why)
            return _with_cost(spent, reply).changed(fallback=why)
        temporary = [failure for failure in failures if isinstance(failure, ModelFailed) and not failure.final]
        waiting = [failure for failure in failures if isinstance(failure, ModelWaits)]
        # A failure that may be temporary, else one that a person can solve, else the last one.
        failure = (temporary or waiting or failures)[-1]
        failure.bill = spent
        raise failure

    async def close(self) -> None:
        for model in self.models:
            await close_model(model)


def _with_cost(spent: Bill, reply: Reply) -> Reply:
    """Add the cost of the earlier failures to the reply."""
    if not spent.usage.total:
        return reply
    usd = None if reply.cost_usd is None else (spent + Bill(reply.usage, reply.cost_usd)).usd
    filled = reply.filled or reply.usage.input
    return reply.changed(usage=spent.usage + reply.usage, cost_usd=usd, filled=filled)
