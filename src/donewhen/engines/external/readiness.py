"""Whether an agent has what it needs to reach a model: a key of a provider, or an account it has signed in to.

Looks at an environment that is handed in and at credential files; starts nothing, sends nothing. Values of keys and
tokens are looked at and never told: only the names of variables and files leave this module.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

from donewhen.engines.external.profile import Profile, Provider, SignIn
from donewhen.records import frozen

MILLISECONDS = 100_000_000_000
"""A time above this is in milliseconds: in seconds it would be thousands of years away."""
CREDENTIAL_BYTES = 1 << 20


@frozen
class Readiness:
    status: Literal["ready", "not_configured", "expired"]
    reason: str
    provider: str = ""
    key: str = ""
    """The variable that holds the key."""


@frozen
class Model:
    """What the settings say about the model that is to be used."""

    provider: str = ""
    """`openai` of `openai:gpt-5`; anything that is no provider, such as `auto`, names none."""
    base_url: str = ""

    def named_in(self, profile: Profile) -> Provider | None:
        """Our name for a provider may say by which of its interfaces: `openai-chat` is openai as well."""
        names = (self.provider, self.provider.partition("-")[0])
        return next((one for name in names for one in profile.providers if one.name == name), None)


ANY_MODEL = Model()


def keyed(profile: Profile, environment: Mapping[str, str], model: Model = ANY_MODEL) -> tuple[Provider, str] | None:
    """The provider that the agent can use by a key, and the variable that holds it.

    Where the settings name a provider no other counts: a key must never be sent to somebody else.
    """
    named = model.named_in(profile)
    for provider in (named,) if named else profile.providers:
        for variable in provider.keys:
            if environment.get(variable, "").strip():
                return provider, variable
    return None


def readiness(profile: Profile, environment: Mapping[str, str], now: float, model: Model = ANY_MODEL) -> Readiness:
    """By a key before an account: a key stays with the gateway, an account's token has to be shown to the agent."""
    if not profile.providers and not profile.sign_in.files:
        return Readiness("ready", "needs no key")
    if found := keyed(profile, environment, model):
        return Readiness("ready", f"{found[1]} is set", found[0].name, found[1])
    named = model.named_in(profile)
    if named is not None and model.base_url:  # a server of the user's own may want no key
        return Readiness("ready", "model.base_url is set", named.name)
    account = _account(profile.sign_in, Path(environment.get("HOME") or "/"), now)
    if account.status == "ready":
        return account
    return Readiness(account.status, "; ".join(filter(None, (account.reason, _remedy(profile)))))


def _remedy(profile: Profile) -> str:
    variables = list(dict.fromkeys(variable for provider in profile.providers for variable in provider.keys))
    remedies = [f"set {' or '.join(variables)}"] if variables else []
    if profile.sign_in.files:
        own = profile.ways["cli"].program if "cli" in profile.ways else profile.name
        remedies.append(f"sign in: {profile.sign_in.login or own}")  # started by a person, it asks for what it lacks
    return ", or ".join(remedies)


def _account(sign_in: SignIn, home: Path, now: float) -> Readiness:
    """Of the files, any that exists counts; only the first tells when it ends."""
    for name in sign_in.files:
        file = home / name
        if not _holds_something(file):
            continue
        if name == sign_in.files[0] and sign_in.expires:
            return _first(sign_in, file, now)
        return Readiness("ready", f"signed in, by ~/{name}")
    return Readiness("not_configured", "")


def _first(sign_in: SignIn, file: Path, now: float) -> Readiness:
    name = sign_in.files[0]
    try:
        content = json.loads(file.read_bytes()[:CREDENTIAL_BYTES])
    except (OSError, ValueError, RecursionError):
        return Readiness("not_configured", f"~/{name} cannot be read")
    ends = _seconds(_at(content, sign_in.expires))
    if ends is not None and ends <= now and not (sign_in.refresh and _at(content, sign_in.refresh)):
        return Readiness("expired", f"the sign-in of ~/{name} has expired")
    return Readiness("ready", f"signed in, by ~/{name}")


def _holds_something(file: Path) -> bool:
    try:
        return file.is_file() and file.stat().st_size > 0
    except OSError:
        return False


def _at(content: Any, dotted: str) -> Any:
    for part in dotted.split("."):
        if not isinstance(content, dict):
            return None
        content = cast("dict[str, Any]", content).get(part)
    return content


def _seconds(value: Any) -> float | None:
    """A time since the epoch, in whichever of the two units."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value / 1000 if value > MILLISECONDS else float(value)
