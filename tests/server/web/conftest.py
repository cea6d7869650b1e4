"""A running web side for the tests of this directory."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from web_daemon import WebDaemon, running


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[WebDaemon]:
    with running(tmp_path) as one:
        yield one
