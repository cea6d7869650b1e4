"""What one round of a loop may use: its own limits, and what is left of the day and of the whole life of the loop."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from donewhen.loops.spec import LoopBudget
from donewhen.records import frozen
from donewhen.session.loop.budget import Allowance

LIMIT_NAMES: Mapping[str, str] = {
    "minutes": "minutes",
    "input tokens": "input",
    "output tokens": "output",
    "tokens": "total",
    "turns": "turns",
    "usd": "money",
}
"""The name of a limit in `round_finished`, by the first words of the message about it."""


@frozen
class Spent:
    """What earlier rounds used."""

    tokens: int = 0
    usd: float = 0.0
    """Of the rounds whose price is known. The limits of tokens bound the others."""


def allowance(budget: LoopBudget, today: Spent, ever: Spent) -> Allowance:
    """Return the limits of a round that begins now."""
    tokens = (budget.tokens, budget.tokens_per_day - today.tokens, budget.tokens_lifetime - ever.tokens)
    money = (budget.usd, budget.usd_per_day - today.usd, budget.usd_lifetime - ever.usd)
    stated_tokens = (budget.tokens, budget.tokens_per_day, budget.tokens_lifetime)
    stated_money = (budget.usd, budget.usd_per_day, budget.usd_lifetime)
    return Allowance(
        minutes=budget.minutes,
        tokens=min((left for left, stated in zip(tokens, stated_tokens, strict=True) if stated), default=0),
        usd=min((left for left, stated in zip(money, stated_money, strict=True) if stated), default=0),
        input_tokens=budget.input_tokens,
        output_tokens=budget.output_tokens,
        turns=budget.turns,
    )


def used_up(budget: LoopBudget, today: Spent, ever: Spent) -> str:
    """Return which limit of the day or of the whole life is used up; empty if the loop may run."""
    return next(_used_up(budget, today, ever), "")


def _used_up(budget: LoopBudget, today: Spent, ever: Spent) -> Iterator[str]:
    for words, spent, tokens, usd in (
        ("today", today, budget.tokens_per_day, budget.usd_per_day),
        ("in all rounds", ever, budget.tokens_lifetime, budget.usd_lifetime),
    ):
        if tokens and spent.tokens >= tokens:
            yield f"tokens: used {spent.tokens} {words}, allowed {tokens}"
        if usd and spent.usd >= usd:
            yield f"usd: used {spent.usd:.4f} {words}, allowed {usd:g}"


def limit_name(reason: str) -> str:
    """Return the short name of the limit that a message is about."""
    return LIMIT_NAMES.get(reason.partition(":")[0], "total")


def exceeded(allowed: Allowance, input_tokens: int, output_tokens: int, usd: float | None) -> str:
    """Return which limit is exceeded, in the order input, output, total, money; empty if none is."""
    for name, used, limit in (
        ("input tokens", input_tokens, allowed.input_tokens),
        ("output tokens", output_tokens, allowed.output_tokens),
        ("tokens", input_tokens + output_tokens, allowed.tokens),
    ):
        if limit and used > limit:
            return f"{name}: used {used}, allowed {limit}"
    if allowed.usd and usd is not None and usd > allowed.usd:
        return f"usd: used {usd:.4f}, allowed {allowed.usd:g}"
    return ""


def as_plain(allowed: Allowance) -> dict[str, float]:
    return asdict(allowed)


def from_plain(body: Mapping[str, float]) -> Allowance:
    known = asdict(Allowance())
    return Allowance(**{name: body[name] for name in known if name in body})  # pyright: ignore[reportArgumentType] - it was written from these fields
