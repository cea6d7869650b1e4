"""Servers behind https, over all wires: the scheme counts in any letter case, and so do certificates."""

from pathlib import Path

import pytest
from talking import ENVIRONMENT, first_turn

from donewhen.model.deadlines import RetryBudget
from donewhen.model.interface import ModelFailed, Reply, close_model
from donewhen.model.open_model import ModelConfig, open_model
from engines.external.proxy_certificates import Certificate, certificate
from wire_server import Answer, Says, WireServer, serving

pytestmark = pytest.mark.anyio
FINE = Says(Answer(text="fine"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificate(tmp_path_factory.mktemp("certificate"), "IP:127.0.0.1")


async def send_turn(server: WireServer, scheme: str, name: str) -> Reply | ModelFailed:
    url = f"{scheme}://127.0.0.1:{server.port}{'' if name.startswith('anthropic') else '/v1'}"
    model = open_model(name, ModelConfig(base_url=url, retry=RetryBudget(per_turn=0)), ENVIRONMENT)
    try:
        return await model.reply(first_turn())
    except ModelFailed as failed:
        return failed
    finally:
        await close_model(model)


@pytest.mark.parametrize("name", ["anthropic:m", "openai-chat:m", "vllm:m"])
@pytest.mark.parametrize("scheme", ["https", "HTTPS", "Https"])
async def test_an_https_address_works_in_upper_and_lower_case(
    made: Certificate, monkeypatch: pytest.MonkeyPatch, scheme: str, name: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(made.file))
    with serving(FINE, tls=made.server()) as server:
        reply = await send_turn(server, scheme, name)
    assert isinstance(reply, Reply) and reply.text == "fine"


@pytest.mark.parametrize("scheme", ["https", "HTTPS"])
async def test_a_server_with_an_untrusted_certificate_is_refused(
    made: Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate(tmp_path, "IP:127.0.0.1").file))
    with serving(FINE, tls=made.server()) as server:
        failed = await send_turn(server, scheme, "anthropic:m")
    assert isinstance(failed, ModelFailed) and failed.kind == "tls"
    assert not server.received


@pytest.mark.parametrize("scheme", ["http", "HTTP"])
async def test_an_http_address_works_in_upper_and_lower_case(scheme: str) -> None:
    with serving(FINE) as server:
        reply = await send_turn(server, scheme, "anthropic:m")
    assert isinstance(reply, Reply) and reply.text == "fine"
