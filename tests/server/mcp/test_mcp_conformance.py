"""The official conformance suite of MCP against the real endpoint: all scenarios that ask for no special tools.

One scenario also has checks that need a tool of the suite's own server. Those checks are named here; every other check
of the scenario passes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import node_tools
import pytest
from mcp_daemon import McpClientOfTests, McpDaemon, running

NEEDS_TOOLS_OF_THE_SUITE = {
    "server-stateless": {
        "sep-2575-server-rejects-undeclared-capability",
        "sep-2575-missing-capability-http-400",
        "sep-2575-http-server-no-independent-requests-on-stream",
        "sep-2575-server-no-log-without-loglevel",
    },
}
"""Scenario → the checks that cannot be made without a tool of the suite."""
HARMLESS = ("SUCCESS", "INFO", "SKIPPED")
SCENARIOS = (
    "server-initialize",
    "server-session-lifecycle",
    "server-stateless",
    "ping",
    "tools-list",
    "caching",
    "http-header-validation",
    "dns-rebinding-protection",
    "server-sse-multiple-streams",
)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpDaemon]:
    """An endpoint that knows the client without a token: the suite has none."""
    home = tmp_path_factory.mktemp("conformance")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(home))
        with running(home, "--as-client", "suite") as daemon:
            McpClientOfTests(daemon.port, "").tools()  # loads the SDK: the suite has short timeouts
            yield daemon


def checks_of(scenario: str, endpoint: McpDaemon, place: Path) -> list[dict[str, Any]]:
    """Run a scenario. Return its checks: each has an `id` and a `status`."""
    arguments = ("server", "--url", endpoint.address, "--scenario", scenario, "--output-dir", str(place))
    ran = node_tools.run("conformance", *arguments, cwd=place)
    (report,) = [*place.rglob("checks.json")]
    found: list[dict[str, Any]] = json.loads(report.read_text())
    assert found, ran.stdout + ran.stderr
    return found


@pytest.mark.promise("serve.mcp")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_of_the_official_suite_passes(scenario: str, endpoint: McpDaemon, tmp_path: Path) -> None:
    found = checks_of(scenario, endpoint, tmp_path)
    failed = {one["id"]: one.get("errorMessage") for one in found if one["status"] not in HARMLESS}
    expected = NEEDS_TOOLS_OF_THE_SUITE.get(scenario, set[str]())
    assert set(failed) == expected, failed
    assert all("Not testable: server does not list" in str(failed[id]) for id in expected)
    assert any(one["status"] == "SUCCESS" for one in found)


def test_the_suite_finds_an_endpoint_that_takes_any_host(tmp_path: Path) -> None:
    with running(tmp_path, "--as-client", "suite", "--any-host") as daemon:
        found = checks_of("dns-rebinding-protection", daemon, tmp_path)
    assert any(one["status"] == "FAILURE" for one in found)
