"""Finds the provider of the server `model.base_url`: it is the one that the `model.use` beside it names. Pure.

Beside it means in the same file, or in the same environment. A base_url in the environment alone belongs to the
provider that `--model` names, because both belong to one call. A key of another provider is never sent to that server.
"""

from donewhen.errors import BadInput
from donewhen.model.name import WITHOUT_SERVER, ModelName
from donewhen.model.providers import is_same_provider
from donewhen.records import frozen
from donewhen.session.settings.schema import TABLES
from donewhen.session.settings.settings import PREFIX, Settings

MODEL_OPTION = TABLES["model"]["use"].flag
"""The source of a `model.use` from the command line."""


@frozen
class ModelServer:
    url: str = ""
    """Empty: no server is configured, or its provider is unknown."""
    provider: str = ""

    def url_for(self, provider: str) -> str:
        """Return the server's address for models of this provider; empty if it belongs to another one."""
        return self.url if is_same_provider(provider, self.provider) else ""


def server_of(settings: Settings, *providers: str) -> ModelServer:
    """Return the configured server. Raise BadInput if its provider is unknown and one of `providers` needs a server."""
    base, use = settings.get("model", "base_url"), settings.get("model", "use")
    belongs_to_call = base.source.startswith(PREFIX) and use.source == MODEL_OPTION
    provider = ModelName.parse(base.model_use or (str(use.value) if belongs_to_call else "")).provider
    if not base.value or provider not in ("", "auto"):
        return ModelServer(str(base.value), provider)
    if set(providers) - set(WITHOUT_SERVER):
        raise BadInput(
            f"{base.source}: 'model.base_url' applies to the provider of 'model.use' in the same "
            'file, and that is missing; add one, such as use = "openai:NAME"'
        )
    return ModelServer()
