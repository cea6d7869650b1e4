"""Directories that resist removal: removed, and nothing outside them is touched."""

import os
from pathlib import Path

import pytest

from donewhen.workspace.files import remove_tree

DEPTH = 3000


def dig(place: Path, depth: int) -> None:
    place.mkdir()
    here = os.open(place, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


@pytest.mark.parametrize("depth", [0, 3, DEPTH])
def test_a_tree_of_any_depth_is_removed(tmp_path: Path, depth: int) -> None:
    dig(tmp_path / "deep", depth)
    remove_tree(tmp_path / "deep")
    assert os.listdir(tmp_path) == []


def test_the_target_of_a_link_in_a_deep_tree_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    dig(tmp_path / "deep", DEPTH)
    (tmp_path / "deep" / "link").symlink_to(tmp_path / "kept")
    remove_tree(tmp_path / "deep")
    assert os.listdir(tmp_path / "kept") == ["file"]
