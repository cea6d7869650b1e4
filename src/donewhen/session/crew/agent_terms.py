"""Terms on which a found agent works on a session: its model, its key, the hosts it may reach. Or why it may not work.

Keys are read from the environment here and given to the gateway. Nothing else ever holds them.
"""

from collections.abc import Mapping
from typing import Literal, cast

from donewhen.engines.external.discover.find import FoundAgent
from donewhen.engines.external.discover.profile import GOVERNANCE, AgentProvider, Governance, Profile
from donewhen.engines.external.discover.programs import mentioned_paths
from donewhen.engines.external.network.endpoints import WIRES
from donewhen.engines.external.network.gateway import Upstream
from donewhen.engines.external.network.hosts import Rules
from donewhen.engines.external.run.agent_environment import AgentLaunchSpec
from donewhen.model.name import ModelName
from donewhen.model.providers import PROVIDERS, address_of
from donewhen.records import frozen
from donewhen.session.settings.model_server import server_of
from donewhen.session.settings.settings import Settings
from donewhen.session.workplace import Workplace
from donewhen.workspace.sandbox.level import Level


@frozen
class AgentUnavailable:
    """Why an agent cannot work here."""

    kind: Literal["sign_in", "not_ready", "governance", "model"]
    reason: str


def launch_spec(
    profile: Profile, found: FoundAgent, workplace: Workplace, environment: Mapping[str, str]
) -> AgentLaunchSpec | AgentUnavailable:
    settings = workplace.settings
    use = ModelName.parse(settings.text("model", "use"))
    provider = _provider(profile, found, use)
    if use.name and use.has_server and provider is None and profile.providers:
        names = ", ".join(one.name for one in profile.providers)
        return AgentUnavailable("model", f"{found.name} cannot use {use.provider}:{use.name}; it knows {names}")
    if not found.ready:
        kind = "sign_in" if found.status in ("not_configured", "expired") else "not_ready"
        return AgentUnavailable(kind, f"{found.name}: {found.reason}")
    if reason := _governance_problem(found, workplace):
        return AgentUnavailable("governance", reason)
    upstream = _upstream(provider, found, settings, environment) if provider is not None else None
    mcp_url, tools = settings.text("external", "mcp_url"), workplace.agent_tools
    return AgentLaunchSpec(
        profile=profile,
        kind=cast("Literal['acp', 'cli']", found.way),
        program=found.program,
        shown=_shown(found, settings, environment),
        upstream=upstream,
        provider=provider.name if provider is not None else "",
        model=use.name if use.has_server else "",
        rules=_rules(profile, settings, signed_in=upstream is None),
        mcp_url=mcp_url or (tools.url if tools else ""),
        mcp_token=tools.token if tools and not mcp_url else "",
        project_settings=bool(settings.agents().get(found.name, {}).get("project_settings")),
    )


def _upstream(
    provider: AgentProvider, found: FoundAgent, settings: Settings, environment: Mapping[str, str]
) -> Upstream | None:
    """Return the model's server with its key. None means that the agent uses its own account."""
    base_url = server_of(settings, provider.name).url_for(provider.name)
    if not (base_url or found.key):
        return None
    url = address_of(PROVIDERS[provider.name], base_url, environment).url
    base = url.rstrip("/").removesuffix(provider.path)
    key = environment.get(found.key, "").strip()
    return Upstream(base=base, header=provider.header, key=key, wire=WIRES[provider.name])


def _shown(found: FoundAgent, settings: Settings, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths that the agent must see. The user's own command may need files that are hidden otherwise."""
    command = str(settings.agents().get(found.name, {}).get("command") or "")
    named = mentioned_paths(command, environment.get("HOME", "/"))
    return (*([found.begins_with] if found.begins_with else []), *named)


def _provider(profile: Profile, found: FoundAgent, use: ModelName) -> AgentProvider | None:
    """Return the provider that the model's name asks for, else the one that has a key, else the first."""
    by_name = {one.name: one for one in profile.providers}
    if use.provider not in ("", "auto") and use.has_server:
        return by_name.get(use.provider) or by_name.get(use.provider.partition("-")[0])
    return by_name.get(found.provider) or next(iter(profile.providers), None)


def _governance_problem(found: FoundAgent, workplace: Workplace) -> str:
    """Return why the agent is not governed as the settings require; empty if it is."""
    wanted = cast("Governance", workplace.settings.text("external", "require"))
    if workplace.probe.level is not Level.BUBBLEWRAP:
        return f"{found.name} can be confined only by bubblewrap, which does not work on this machine"
    if GOVERNANCE.index(found.governance) < GOVERNANCE.index(wanted):
        return f"{found.name} is {found.governance}, but external.require is {wanted}"
    return ""


def _rules(profile: Profile, settings: Settings, signed_in: bool) -> Rules:
    everything = settings.text("workspace", "network") == "full"
    return Rules(hosts=profile.sign_in.hosts if signed_in else (), anything_public=everything)
