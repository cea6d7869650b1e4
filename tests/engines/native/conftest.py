"""A repository for the tests of the native engine."""

from pathlib import Path

import pytest
from workshop import FILES

from needs import needs
from repositories import repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    needs("bwrap")
    return repository(tmp_path / "repository", FILES)
