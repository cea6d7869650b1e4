"""Readiness of an agent: whether it can reach a model, by a provider's key or by an account it is signed in to.

Reads an environment that the caller passes in, and credential files; starts nothing, sends nothing. Values of keys and
tokens are read but never reported: only the names of variables and files leave this module.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

from donewhen.engines.external.discover.profile import AgentProvider, Profile, SignIn
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
    """Name of the variable that holds the key."""


@frozen
class ModelChoice:
    """The model that the settings select."""

    provider: str = ""
    """`openai` of `openai:gpt-5`; a value that is not a provider, such as `auto`, selects none."""
    base_url: str = ""

    def provider_in(self, profile: Profile) -> AgentProvider | None:
        """Return the selected provider. Our name for a provider may include the interface: `openai-chat` is also
        openai."""
        names = (self.provider, self.provider.partition("-")[0])
        return next((one for name in names for one in profile.providers if one.name == name), None)


ANY_MODEL = ModelChoice()


def provider_with_key(
    profile: Profile, environment: Mapping[str, str], model: ModelChoice = ANY_MODEL
) -> tuple[AgentProvider, str] | None:
    """Return the provider that the agent can use with a key, and the variable that holds the key.

    If the settings name a provider, no other is considered: a key must never be sent to another party.
    """
    named = model.provider_in(profile)
    for provider in (named,) if named else profile.providers:
        for variable in provider.keys:
            if environment.get(variable, "").strip():
                return provider, variable
    return None


def readiness(
    profile: Profile, environment: Mapping[str, str], now: float, model: ModelChoice = ANY_MODEL
) -> Readiness:
    """Return the readiness. A key is preferred to an account: a key stays with the gateway, but the agent must see an
    account's token."""
    if not profile.providers and not profile.sign_in.files:
        return Readiness("ready", "needs no key")
    if found := provider_with_key(profile, environment, model):
        return Readiness("ready", f"{found[1]} is set", found[0].name, found[1])
    named = model.provider_in(profile)
    if named is not None and model.base_url:  # the user's own server may need no key
        return Readiness("ready", "model.base_url is set", named.name)
    account = _account(profile.sign_in, Path(environment.get("HOME") or "/"), now)
    if account.status == "ready":
        return account
    return Readiness(account.status, "; ".join(filter(None, (account.reason, _remedy(profile)))))


def _remedy(profile: Profile) -> str:
    variables = list(dict.fromkeys(variable for provider in profile.providers for variable in provider.keys))
    remedies = [f"set {' or '.join(variables)}"] if variables else []
    if profile.sign_in.files:
        program = profile.interfaces["cli"].program if "cli" in profile.interfaces else profile.name
        remedies.append(
            f"sign in: {profile.sign_in.login or program}"
        )  # if a person starts it, it asks for what it lacks
    return ", or ".join(remedies)


def _account(sign_in: SignIn, home: Path, now: float) -> Readiness:
    """Check the credential files. Any file that exists counts; only the first one has an expiry time."""
    for name in sign_in.files:
        file = home / name
        if not _has_content(file):
            continue
        if name == sign_in.files[0] and sign_in.expires:
            return _check_expiry(sign_in, file, now)
        return Readiness("ready", f"signed in (~/{name})")
    return Readiness("not_configured", "")


def _check_expiry(sign_in: SignIn, file: Path, now: float) -> Readiness:
    name = sign_in.files[0]
    try:
        content = json.loads(file.read_bytes()[:CREDENTIAL_BYTES])
    except (OSError, ValueError, RecursionError):
        return Readiness("not_configured", f"~/{name} cannot be read")
    ends = _seconds(_value_at(content, sign_in.expires))
    if ends is not None and ends <= now and not (sign_in.refresh and _value_at(content, sign_in.refresh)):
        return Readiness("expired", f"the sign-in of ~/{name} has expired")
    return Readiness("ready", f"signed in (~/{name})")


def _has_content(file: Path) -> bool:
    try:
        return file.is_file() and file.stat().st_size > 0
    except OSError:
        return False


def _value_at(content: Any, dotted: str) -> Any:
    for part in dotted.split("."):
        if not isinstance(content, dict):
            return None
        content = cast("dict[str, Any]", content).get(part)
    return content


def _seconds(value: Any) -> float | None:
    """Return a time since the epoch in seconds, from either unit; None if it is not a number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value / 1000 if value > MILLISECONDS else float(value)
