"""A row of models, of which the next is asked when one fails for good. It changes nothing about what is asked.

Once another than the first has answered, it stays with that one for the rest of the conversation: only there the
provider still has its beginning.
"""

from dataclasses import dataclass, field, replace

from donewhen.model.base import Bill, Model, ModelFailed, ModelWaits, Reply, Said, Turn
from donewhen.model.closing import close_model

FAULT_OF_THE_REQUEST = "bad_request"
"""What one provider cannot read, the others should not be bothered with: the mistake is ours."""


@dataclass(slots=True)
class Fallback:
    models: tuple[Model, ...]
    _stays: dict[str, tuple[Model, str]] = field(default_factory=dict[str, tuple[Model, str]], init=False, repr=False)
    """By role: who answers now, and why not the first."""

    @property
    def name(self) -> str:
        return self.models[0].name

    async def reply(self, turn: Turn, said: Said | None = None) -> Reply:
        failures: list[ModelFailed | ModelWaits] = []
        spent = Bill()
        current, why = self._stays.get(turn.role, (self.models[0], ""))
        for model in (current, *(other for other in self.models if other is not current)):
            try:
                reply = await model.reply(turn, said)
            except (ModelFailed, ModelWaits) as failure:
                spent = failure.bill = spent + failure.bill
                if isinstance(failure, ModelFailed) and failure.kind == FAULT_OF_THE_REQUEST:
                    raise
                failures.append(failure)
                why = f"{model.name}: {failure}"
                continue
            why = "" if model is self.models[0] else why
            self._stays[turn.role] = (model, why)
            return replace(_with(spent, reply), fallback=why)
        failure = _most_hopeful(failures)
        failure.bill = spent
        raise failure

    async def close(self) -> None:
        for model in self.models:
            await close_model(model)


def _with(spent: Bill, reply: Reply) -> Reply:
    """The reply, with what the failures before it cost."""
    if not spent.usage.total:
        return reply
    usd = None if reply.cost_usd is None else (spent + Bill(reply.usage, reply.cost_usd)).usd
    filled = reply.filled or reply.usage.input
    return replace(reply, usage=spent.usage + reply.usage, cost_usd=usd, filled=filled)


def _most_hopeful(failures: list[ModelFailed | ModelWaits]) -> ModelFailed | ModelWaits:
    """One that may pass by itself, else one that a person can help with, else the last."""
    passing = [failure for failure in failures if isinstance(failure, ModelFailed) and not failure.final]
    waiting = [failure for failure in failures if isinstance(failure, ModelWaits)]
    return (passing or waiting or failures)[-1]
