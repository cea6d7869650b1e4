"""Files that one program of a run made and another program read, also if they are gone when the run ends."""

import os
import stat
from pathlib import Path

import pytest

from donewhen.judge.made_files import MadeFiles, made_files
from donewhen.workspace.process.launcher.messages import FOUND, READ, WRITTEN
from donewhen.workspace.process.observed import NO_PARENT, Observed, ProgramRun
from donewhen.workspace.sandbox.view import Bind, Overlay

ROOT, HOME = "/tree", "/a/home"


def program(name: str, **seen: int) -> ProgramRun:
    """Return a program and what it did with paths: `_` stands for `/` in their names."""
    paths = {path.replace("_", "/"): deed for path, deed in seen.items()}
    return ProgramRun(
        parent=NO_PARENT, program=name, interpreter="", argv=(name,), directory=ROOT, exit_code=0, seen=paths
    )


@pytest.fixture
def layers(tmp_path: Path) -> tuple[Bind | Overlay, ...]:
    """A tree with the file `old` below a candidate that deletes `deleted`, and a shared directory with `tool`."""
    files = ("base/old", "base/deleted", "candidate/new", "upper/left", "share/tool", "share-upper/more")
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    os.mknod(tmp_path / "candidate/deleted", stat.S_IFCHR)
    return (
        Overlay(str(tmp_path), ("candidate", "base"), "upper", "work", ROOT),
        Overlay(str(tmp_path), (), "share-upper", "work", f"{ROOT}/share", borrowed=(str(tmp_path), "share")),
    )


def made(layers: tuple[Bind | Overlay, ...], *runs: ProgramRun, home: dict[str, int] | None = None) -> MadeFiles:
    return made_files(Observed(True, runs, home or {}), layers, HOME)


def test_files_of_the_tree_and_of_a_share_were_not_made(layers: tuple[Overlay, ...]) -> None:
    reader = program("lint", _tree_old=READ, _tree_new=READ, _tree_share_tool=READ, _usr_lib=READ)
    assert made(layers, reader) == MadeFiles({}, frozenset())


def test_a_file_that_another_program_wrote_was_made(layers: tuple[Overlay, ...]) -> None:
    writer, reader = program("tests", _tree_left=WRITTEN), program("lint", _tree_left=READ)
    assert made(layers, writer, reader) == MadeFiles({"/tree/left": (reader,)}, frozenset())


def test_what_a_program_reads_of_its_own_is_not_listed(layers: tuple[Overlay, ...]) -> None:
    assert not made(layers, program("tests", _tree_left=READ | WRITTEN, _tree_gone=READ | WRITTEN)).readers


def test_a_file_that_is_only_looked_up_is_not_listed(layers: tuple[Overlay, ...]) -> None:
    assert not made(layers, program("lint", _tree_left=FOUND)).readers


def test_a_file_that_is_gone_is_known_from_its_reader(layers: tuple[Overlay, ...]) -> None:
    reader = program("lint", _tree_gone=READ, _tree_share_gone=READ, _tree_share_more=READ)
    found = made(layers, reader)
    assert set(found.readers) == {"/tree/gone", "/tree/share/gone", "/tree/share/more"}
    assert found.gone == {"/tree/gone", "/tree/share/gone"}


def test_a_file_in_the_place_of_a_deleted_one_was_made(layers: tuple[Overlay, ...]) -> None:
    assert made(layers, program("lint", _tree_deleted=READ)).gone == {"/tree/deleted"}


def test_files_of_the_private_home_were_made_unless_the_host_has_them(
    layers: tuple[Overlay, ...], tmp_path: Path
) -> None:
    (tmp_path / "installed").touch()
    seen = {f"{tmp_path}/installed": READ, f"{tmp_path}/.lintrc": READ, f"{tmp_path}/.gone": READ}
    reader = ProgramRun(
        parent=NO_PARENT, program="lint", interpreter="", argv=(), directory=ROOT, exit_code=0, seen=seen
    )
    found = made_files(Observed(True, (reader,), {".lintrc": 0o100644}), layers, str(tmp_path))
    assert set(found.readers) == {f"{tmp_path}/.lintrc", f"{tmp_path}/.gone"}
    assert found.gone == {f"{tmp_path}/.gone"}
