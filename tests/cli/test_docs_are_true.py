"""Every command of README.md and of the pages that one can follow is typed in order, and they show what is printed.

No network: the models of the guide are scripted, and the provider of the README is a server on this machine that
speaks its protocol. The `make` lines are looked up and not run: they belong to the checkout and have their own
tests.
"""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from followed_page import Reader, blocks, is_shown, plain_variables

from donewhen.session.settings import settings
from needs import needs
from program import PROGRAM
from wire_server import Answer, SaidCall, Says, serving

ROOT = Path(__file__).parents[2]
README, GUIDE = ROOT / "README.md", ROOT / "docs" / "guide.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md")), ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
MAKE = re.compile(r"make ([a-z]+)")


@pytest.fixture
def reader(home: Path, tmp_path: Path) -> Iterator[Reader]:
    """A new user in their home, with git, our program and nothing else set up."""
    needs("bwrap")
    (home / ".gitconfig").write_text("[user]\n\tname = You\n\temail = you@example.com\n")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "donewhen").symlink_to(PROGRAM)
    someone = Reader(home, home, plain_variables(home, programs))
    yield someone
    someone.close()


@pytest.mark.sample(0)
def test_every_command_of_the_guide_works_as_shown(reader: Reader) -> None:
    reader.follow(GUIDE)
    typed = {words[1] for words in (command.split() for command in reader.ran) if words[0] == "donewhen"}
    assert {"init", "trust", "check", "run", "watch", "answer", "approve", "cancel", "resume", "land"} <= typed
    assert {"list", "show", "log", "diff", "receipt", "verify", "discard", "models", "replay"} <= typed


def test_every_command_of_the_readme_works_as_shown(reader: Reader) -> None:
    """From a checkout to a branch; the reader's repository is the one of the guide."""
    shop, checkout = reader.home / "shop", reader.home / "donewhen"
    shop.mkdir()
    for block in blocks(GUIDE):
        if block.word in ("price.py", "test_price.py"):
            (shop / block.word).write_text(block.text)
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "donewhen").symlink_to(PROGRAM)
    makes = {
        command.split("#")[0].strip(): f"make -n -C {shlex.quote(str(ROOT))} {target}"
        for command, target in make_lines()
    }
    reader.aside = {**makes, "cd ~/shop": "cd ~/shop && git init -q -b main && git add . && git commit -q -m Prices"}
    reader.directory = checkout
    with serving(*(Says(answer) for answer in provider_answers())) as provider:
        reader.variables["ANTHROPIC_BASE_URL"] = provider.url
        reader.follow(README)
    assert len(provider.received) == 2


def test_every_program_of_the_page_about_python_works_as_shown(reader: Reader) -> None:
    programs = ("first.py", "second.py", "third.py")
    reader.aside = {f"python {name}": f"{shlex.quote(sys.executable)} {name}" for name in programs}
    reader.follow(ROOT / "docs" / "python.md")
    assert [command for command in reader.ran if command.startswith("python ")] == [*reader.aside]


def test_every_client_of_the_page_about_clients_works_as_shown(reader: Reader) -> None:
    needs("curl")
    needs("jq")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    call = 'sh session.sh http://127.0.0.1:7730 "$PWD/shop" "greet the world"'
    reader.aside = {"donewhen serve": f"donewhen serve --port {port}", call: call.replace("7730", str(port))}
    reader.follow(ROOT / "docs" / "clients.md")
    assert {"donewhen serve", call} <= {*reader.ran}


def test_the_unit_for_systemd_is_sound(tmp_path: Path) -> None:
    needs("systemd-analyze")
    unit = (ROOT / "docs" / "donewhen.service").read_text()
    here = tmp_path / "donewhen.service"
    here.write_text(unit.replace("%h/.local/bin/donewhen", str(PROGRAM)))
    verify = ["systemd-analyze", "verify", "--user", "--man=no", "--recursive-errors=no", str(here)]
    variables = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    shown = subprocess.run(verify, env=variables, capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, "")
    here.write_text(f"{unit}\n[Service]\nKillMod=mixed\n")
    control = subprocess.run(verify, env=variables, capture_output=True, text=True, check=False)
    assert "KillMod" in control.stderr


def make_lines() -> Iterator[tuple[str, str]]:
    for block in blocks(README):
        for command in block.commands:
            if block.language == "sh" and (target := MAKE.match(command)):
                yield command, target[1]


def provider_answers() -> Iterator[Answer]:
    edit = {"path": "price.py", "old": "sum(prices)", "new": "sum(prices) * (100 - discount) // 100"}
    yield Answer(calls=(SaidCall("call_1", "edit_file", json.dumps(edit)),))
    yield Answer(text="The discount is a percentage of the sum.")


def test_every_setting_shown_in_the_docs_exists(tmp_path: Path) -> None:
    shown = [block for page in PAGES for block in blocks(page) if block.language == "toml"]
    assert len(shown) > 3
    for number, block in enumerate(shown):
        tomllib.loads(block.text)
        file = tmp_path / f"{number}.toml"
        file.write_text(block.text)
        settings.read(file)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_in_the_docs_leads_to_an_existing_file(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


# -- the page reader itself --


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\n", "a\n", True),
        ("a\n", "a\nb\n", False),
        ("a\n…\n", "a\nb\nc\n", True),
        ("…\nc\n", "a\nb\n", False),
        ("sha256:…\n", "sha256:0f\n", True),
        ("took 0.1 s\n", "took 12.3 s\n", True),
        ("round 1\n", "round 2\n", False),
        ("session ID: x\n", "session 0a1b2c3d: x\n", True),
    ],
)
def test_shown_output_is_compared_line_by_line(shown: str, printed: str, same: bool) -> None:
    assert is_shown(shown, printed) is same


@pytest.mark.parametrize(
    "page",
    [
        "```sh\nfalse\n```\n",
        "```sh\ntrue   # exit 1\n```\n",
        "```sh\necho one\n```\n\n```text\ntwo\n```\n",
        "```sh first-terminal\necho one\n```\n\n```text first-terminal\ntwo\n```\n",
        "```sh first-terminal\nexit 7\n```\n",
    ],
    ids=["a failure", "a success", "other words", "other words in the first terminal", "a failure there"],
)
def test_a_page_with_wrong_output_is_detected(reader: Reader, tmp_path: Path, page: str) -> None:
    untrue = tmp_path / "untrue.md"
    untrue.write_text(page)
    with pytest.raises(AssertionError):
        reader.follow(untrue)


def test_the_test_terminal_keeps_its_directory_and_variables(reader: Reader, tmp_path: Path) -> None:
    page = tmp_path / "true.md"
    page.write_text('```sh\nmkdir a && cd a\nexport B="b c"\necho $(basename $PWD) $B\n```\n\n```text\na b c\n```\n')
    reader.follow(page)
