"""Files that we write where an agent could write before: what it left there is replaced and never followed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.engines.external.acp.in_sandbox import INPUT, SandboxPipe
from donewhen.engines.external.run.config_files import write_file

pytestmark = pytest.mark.anyio
VICTIM = "a file of the user's"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    place = tmp_path / "victim"
    place.mkdir()
    (place / "file").write_text(VICTIM)
    return place / "file"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    place = tmp_path / "own"
    place.mkdir()
    return place


def link_to_the_file(own: Path, victim: Path) -> None:
    (own / "conf").mkdir()
    (own / "conf" / "file").symlink_to(victim)


def link_to_its_directory(own: Path, victim: Path) -> None:
    (own / "conf").symlink_to(victim.parent)


def hard_link(own: Path, victim: Path) -> None:
    (own / "conf").mkdir()
    os.link(victim, own / "conf" / "file")


def a_directory_in_its_place(own: Path, victim: Path) -> None:
    del victim
    (own / "conf" / "file" / "deeper").mkdir(parents=True)


def a_file_above(own: Path, victim: Path) -> None:
    del victim
    (own / "conf").write_text("in the way")


def a_pipe(own: Path, victim: Path) -> None:
    del victim
    (own / "conf").mkdir()
    os.mkfifo(own / "conf" / "file")


TRAPS = [link_to_the_file, link_to_its_directory, hard_link, a_directory_in_its_place, a_file_above, a_pipe]


@pytest.mark.parametrize("trap", TRAPS)
def test_files_left_by_an_agent_are_replaced_and_nothing_else_is_changed(
    own: Path, victim: Path, trap: Callable[[Path, Path], None]
) -> None:
    trap(own, victim)
    write_file(own, "conf/file", "ours")
    assert (own / "conf" / "file").read_text() == "ours"
    assert not (own / "conf").is_symlink()
    assert victim.read_text() == VICTIM


@pytest.mark.parametrize("trap", [link_to_the_file, link_to_its_directory, hard_link])
def test_a_plain_write_would_follow_the_agent_s_link(
    own: Path, victim: Path, trap: Callable[[Path, Path], None]
) -> None:
    trap(own, victim)
    (own / "conf" / "file").write_text("ours")
    assert victim.read_text() == "ours"


async def test_messages_to_an_agent_go_to_its_pipe_even_if_the_path_changed(own: Path, victim: Path) -> None:
    (own / INPUT).symlink_to(victim)
    pipe = SandboxPipe(own / INPUT)
    pipe.open()
    reader = os.open(own / INPUT, os.O_RDONLY | os.O_NONBLOCK)
    (own / INPUT).unlink()
    (own / INPUT).symlink_to(victim)
    by_its_path = os.open(own / INPUT, os.O_WRONLY | os.O_NONBLOCK)
    assert os.path.samestat(os.fstat(by_its_path), os.stat(victim))  # the target without the descriptor
    os.close(by_its_path)
    pipe.add_output(b"I am up\n")
    await pipe.send(b"hello\n")
    assert os.read(reader, 99) == b"hello\n"
    pipe.close_input()
    assert os.read(reader, 99) == b""
    os.close(reader)
    assert victim.read_text() == VICTIM
