"""Invalid TOML: every reader gives one line, in bounded time, and never a traceback."""

import os
import socket
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.errors import BadInput
from donewhen.judge.contract import Check, Contract
from donewhen.judge.detect import propose
from donewhen.judge.protect import Guard
from donewhen.judge.protect.contents import manifests
from donewhen.session.settings import settings as settings_module
from donewhen.toml import DEEPEST, MOST_BYTES, MOST_PARTS, BadToml, parse_toml
from donewhen.workspace.beneath import Root
from program import donewhen
from repositories import git, repository

ORDINARY_USER = 65534
MANY = 100_000
BROKEN: Mapping[str, bytes] = {
    "deep lists": b"a = " + b"[" * MANY,
    "deep lists that end": b"a = " + b"[" * MANY + b"]" * MANY,
    "deep tables": b"a = " + b"{a = " * MANY,
    "a long key": b"a" + b".a" * MANY + b" = 1",
    "a long header": b"[a" + b".a" * MANY + b"]",
    "a long key behind a quote": b'a = {a = """x"""", b' + b".b" * MANY + b' = "1"}',
    "tables nested by keys": b"a = " + (b"{" + b".".join([b"a"] * 40) + b" = ") * 50 + b"1" + b"}" * 50,
    "a huge integer": b"a = 1" + b"0" * 900_000,
    "a huge hexadecimal integer": b"a = 0x" + b"f" * 900_000,
    "an integer of 65 bits": b"a = 18446744073709551616",
    "a huge file": b"#" * (MOST_BYTES + 1),
    "invalid UTF-8": b'a = "\xff"',
    "a NUL byte": b'a = "\0"',
    "only NUL bytes": b"\0" * 4096,
    "a byte order mark": b"\xef\xbb\xbfa = 1",
    "UTF-16": "a = 1".encode("utf-16"),
    "an impossible date": b"a = 2026-02-30",
    "the year 0": b"a = 0000-01-01",
    "an impossible time": b"a = 2026-01-01T25:61:61",
    "a key without a value": b"a =",
    "a doubled key": b"a = 1\na = 2",
    "an open string": b'a = """' + b'\\"""' * MANY,
    "carriage returns": b"\r" * MANY,
}
HONEST = f"""
# a comment with dots ...................................................................
[contract]
description = "dots in a text: {"a." * 200}, brackets: {"[" * 200}"
[[check]]
name = "tests"
command = 'sh -c "echo [[[[ {{{{{{{{"'
quarantine = {{ reason = "é ü 漢字 👩‍💻", until = 2026-12-31 }}
"""


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_an_invalid_toml_file_is_one_line(content: bytes) -> None:
    with pytest.raises(BadToml) as refused:
        parse_toml(content)
    assert len(str(refused.value).splitlines()) == 1
    assert len(str(refused.value)) < 200


def test_brackets_dots_and_letters_inside_strings_are_not_counted() -> None:
    found = parse_toml(HONEST)
    assert found["check"][0]["command"].endswith('{{{{"')


def test_ordinary_files_are_within_the_limits() -> None:
    nested = "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1)
    assert parse_toml(f"a = {nested}\n{'.'.join('b' * MOST_PARTS)} = 9223372036854775807\n")


WORDS = "[ ] { } = . , \" \"\"\" ' ''' \\ # a check 1 0x e - : T 2026-01-01 true inf \0 \ufeff \u202e [["
PIECES = st.sampled_from([*WORDS.split(), "\n", " "])


@given(st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=60).map("".join).map(str.encode)))
def test_any_bytes_are_toml_or_one_line(content: bytes) -> None:
    _parsed_or_one_line(content)


@given(st.data())
def test_any_change_of_a_good_file_is_toml_or_one_line(data: st.DataObject) -> None:
    good = HONEST.encode()
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, len(good)))
    _parsed_or_one_line(good[:start] + data.draw(st.binary(max_size=20)) + good[end:])


def _parsed_or_one_line(content: bytes) -> None:
    try:
        assert repr(parse_toml(content))
    except BadToml as wrong:
        assert len(str(wrong).splitlines()) == 1


# -- configuration files --


def a_fifo(file: Path) -> None:
    os.mkfifo(file)


def a_socket(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        here = Path.cwd()
        os.chdir(file.parent)  # the full path is too long for a socket address
        try:
            bound.bind(file.name)
        finally:
            os.chdir(here)


def a_device(file: Path) -> None:
    file.symlink_to("/dev/zero")


def a_dangling_link(file: Path) -> None:
    file.symlink_to("nowhere")


KINDS: list[Callable[[Path], None]] = [Path.mkdir, a_fifo, a_socket, a_device, a_dangling_link]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repository", {"a.txt": "a\n"})


def refused(file: Path, *arguments: str, cwd: Path) -> None:
    answer = donewhen(*arguments, cwd=cwd, timeout=60)
    assert answer.code == 2
    assert answer.out in ("", "preparing\n")  # the latter on a busy machine
    assert str(file) in answer.one_line


@pytest.mark.parametrize("kind", KINDS)
def test_a_donewhen_toml_that_is_not_a_file_is_refused_by_every_verb_that_needs_it(
    root: Path, kind: Callable[[Path], None]
) -> None:
    file = root / "donewhen.toml"
    kind(file)
    for arguments in (["check"], ["init"], ["trust"], ["run", "x"]):
        refused(file, *arguments, cwd=root)
    assert donewhen("list", cwd=root, timeout=60).code == 0


@pytest.mark.sample(5)
@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_donewhen_toml_is_one_line(root: Path, content: bytes) -> None:
    (root / "donewhen.toml").write_bytes(content)
    refused(root / "donewhen.toml", "check", cwd=root)


def test_a_command_too_long_for_the_kernel_is_one_line_and_a_shorter_one_runs(root: Path) -> None:
    file = root / "donewhen.toml"
    file.write_text(f"[[check]]\nname = 'a'\ncommand = '{'true;' * 30_000}'\n")
    for arguments in (["check"], ["run", "x"]):
        refused(file, *arguments, cwd=root)
    file.write_text(f"[[check]]\nname = 'a'\ncommand = '{'true;' * 26_214}'\n")
    assert donewhen("check", cwd=root, timeout=60).code == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_user_file_that_is_not_a_file_is_refused(root: Path, home: Path, kind: Callable[[Path], None]) -> None:
    file = home / ".config" / "donewhen" / "config.toml"
    file.parent.mkdir()
    kind(file)
    refused(file, "check", cwd=root)
    refused(file, "list", cwd=root)


@pytest.mark.sample(5)
@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_user_file_and_a_broken_contract_file_are_one_line(root: Path, home: Path, content: bytes) -> None:
    given = root / "given.toml"
    given.write_bytes(content)
    refused(given, "run", "x", "--contract", str(given), cwd=root)
    own = home / ".config" / "donewhen" / "config.toml"
    own.parent.mkdir()
    own.write_bytes(content)
    refused(own, "check", cwd=root)


@pytest.mark.parametrize("kind", [*KINDS[:4]])
def test_a_contract_file_that_is_not_a_file_is_refused(root: Path, kind: Callable[[Path], None]) -> None:
    kind(root / "given")
    refused(root / "given", "run", "x", "--contract", "given", cwd=root)


def test_an_agent_table_with_an_invalid_value_of_any_type_is_one_line(root: Path) -> None:
    for text in ("agent = 1", "[agent]\nmine = 1", "[agent.mine]\ncommand = [[1]]", "[agent.mine.command]\na.b.c = 1"):
        (root / "donewhen.toml").write_text(text)
        refused(root / "donewhen.toml", "check", cwd=root)


def test_an_overlong_number_in_a_variable_is_one_line(root: Path) -> None:
    answer = donewhen("check", cwd=root, env={"DONEWHEN__NATIVE__MAX_TURNS": "9" * 20_000})
    assert answer.code == 2
    assert "DONEWHEN__NATIVE__MAX_TURNS" in answer.one_line


@contextmanager
def an_ordinary_user() -> Generator[None]:
    """Root may read everything, so root becomes another user for a moment."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(ORDINARY_USER)
    try:
        yield
    finally:
        os.seteuid(was)


def test_an_unreadable_file_is_one_line_that_names_it() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        Path(place).chmod(0o755)
        file = Path(place, "donewhen.toml")
        file.write_text("")
        file.chmod(0)
        with an_ordinary_user(), pytest.raises(BadInput) as wrong:
            settings_module.read(file)
        assert str(wrong.value) == f"{file}: Permission denied"


# -- foreign manifests --

MANIFESTS = (
    "pyproject.toml",
    "Cargo.toml",
    "package.json",
    "composer.json",
    "setup.cfg",
    "go.mod",
    "pom.xml",
    "Gemfile",
)


@pytest.mark.sample(5)
@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_manifest_is_not_read_and_comes_from_the_base(tmp_path: Path, content: bytes) -> None:
    for name in ("pyproject.toml", "Cargo.toml"):
        assert manifests.accepted_part(name, b"[project]\n", content, ()).none
    for name in MANIFESTS:
        (tmp_path / name).write_bytes(content)
    (tmp_path / "conftest.py").write_bytes(b"pytest_plugins = " + b"-" * MANY + b"1")
    checks = (Check(name="a", command="pytest && npm test && cargo test"),)
    guard = Guard(Contract(checks=checks), Root(tmp_path))
    assert all(guard.protects(name) for name in MANIFESTS[:3])
    propose(tmp_path, lambda _: True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Cargo.toml", "bin = [{name = []}]"),
        ("pyproject.toml", "tool = 1\nproject = 2"),
        ("pyproject.toml", "[tool]\npoetry = []\n[[project]]\nname = []"),
    ],
)
def test_a_manifest_with_values_of_unexpected_types_is_read(tmp_path: Path, name: str, text: str) -> None:
    assert manifests.accepted_part(name, b"", text.encode(), ("cargo", "pytest"))
    (tmp_path / name).write_text(text)
    assert (
        Guard(Contract(checks=(Check(name="a", command="pytest"),)), Root(tmp_path)).protects("pyproject.toml")
        is not None
    )
    propose(tmp_path, lambda _: True)


def test_init_with_invalid_manifests_prints_lines_and_no_traceback(root: Path) -> None:
    for name, content in zip(MANIFESTS, BROKEN.values(), strict=False):
        (root / name).write_bytes(content)
    git(root, "add", "--all")
    answer = donewhen("init", cwd=root)
    assert answer.code == 2
    assert "Traceback" not in answer.err
