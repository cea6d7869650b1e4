"""Dependencies are pinned by hash, and no file of the repository names a package index."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def mistakes_in_lock(text: str) -> list[str]:
    pinned = re.sub(r"\\\n", " ", text)
    requirements = [line for line in pinned.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [
        *(f"no hash: {line}" for line in requirements if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", line)),
        *(f"no version: {line}" for line in requirements if not re.match(r"[\w.\[\]-]+==\S+", line)),
        *(f"an address: {line}" for line in text.splitlines() if re.search(r"://|index-url|find-links", line)),
    ]


def test_the_lock_pins_every_requirement_by_hash_and_names_no_address() -> None:
    assert mistakes_in_lock((ROOT / "requirements.lock").read_text()) == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("b==2", "no hash"),
        ("b>=2 --hash=sha256:" + "0" * 64, "no version"),
        ("# from https://example.invalid/b", "an address"),
        ("--index-url simple", "an address"),
    ],
)
def test_a_lock_with_a_weak_line_is_refused(line: str, complaint: str) -> None:
    sound = "httpx==1 ; python_version > '3' \\\n    --hash=sha256:" + "0" * 64 + "\n    # via a\n"
    assert mistakes_in_lock(sound) == []
    assert any(mistake.startswith(complaint) for mistake in mistakes_in_lock(sound + line + "\n"))


INDEX_ADDRESS = re.compile(
    r"(?:index[-_]url|find[-_]links|(?:pip|uv)_\w*index\w*|registry)[\"']?\s*[=:]"
    r"|--(?:(?:extra|default)-)?(?:index|index-url|find-links|registry)[ =]\S"
    r"|://\S*(?:pypi|simple|registry|index|mirror|wheels)",
    re.IGNORECASE,
)
MADE_BY_TOOLS = {".cache", ".git", ".venv", "node_modules", "__pycache__", "dist", "build", "out"}


def settings_files() -> Iterator[Path]:
    for directory, below, names in os.walk(ROOT):
        below[:] = [name for name in below if name not in MADE_BY_TOOLS and not name.endswith("_cache")]
        for path in (Path(directory, name) for name in names):
            is_setting = path.suffix in {".toml", ".cfg", ".ini", ".conf", ".lock", ".yaml", ".yml", ".sh"}
            is_script = path.relative_to(ROOT).parts[0] in {"scripts", ".ci"}
            if is_setting or is_script or path.name in {"Makefile", ".npmrc"}:
                yield path


def test_no_settings_file_or_script_names_a_package_index() -> None:
    found = list(settings_files())
    assert {
        ROOT / "pyproject.toml",
        ROOT / "Makefile",
        ROOT / "requirements.lock",
        ROOT / "scripts/venv",
    } <= set(found)
    assert [
        f"{path.relative_to(ROOT)}: {line}"
        for path in found
        for line in path.read_text().splitlines()
        if INDEX_ADDRESS.search(line)
    ] == []


def test_an_index_address_is_recognised_in_every_form() -> None:
    offences = [
        "pip install --index-url https://example.invalid/x",
        "--extra-index-url=x",
        'index-url = "https://example.invalid"',
        "export PIP_INDEX_URL=x",
        "UV_DEFAULT_INDEX=x",
        "find-links = x",
        "registry=x",
        'source = { registry = "https://packages.example.invalid/simple" }',
        "url = 'https://files.example.invalid/simple/a.whl'",
    ]
    assert [line for line in offences if not INDEX_ADDRESS.search(line)] == []
    honest = [
        "uv pip compile --no-emit-index-url --no-header",
        'Homepage = "https://example.invalid/donewhen"',
    ]
    assert [line for line in honest if INDEX_ADDRESS.search(line)] == []
