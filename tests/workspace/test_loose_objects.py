"""Objects from the store in every form: loose, packed, damaged, or missing."""

import os
from pathlib import Path

import pytest

from donewhen.errors import MachineryBroke
from repositories import commit, git, opened, repository, write

pytestmark = pytest.mark.anyio


async def test_an_object_is_the_same_loose_and_packed(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    head = git(root, "rev-parse", "HEAD")
    async with opened(root, tmp_path / "loose") as store:
        (loose,) = await store.bare.contents([head])
    git(root, "gc", "--quiet", "--prune=now")
    async with opened(root, tmp_path / "packed") as store:
        assert not (store.bare.git_dir / "objects" / head[:2] / head[2:]).exists()
        assert await store.bare.contents([head]) == [loose]
    assert loose.startswith(b"tree ")


async def test_objects_come_in_the_requested_order_loose_or_packed(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    packed = git(root, "rev-parse", "HEAD:a.txt")
    git(root, "gc", "--quiet", "--prune=now")
    write(root, {"b.txt": "b\n", "c.txt": "x" * (1 << 21)})
    commit(root)
    small, large = git(root, "rev-parse", "HEAD:b.txt"), git(root, "rev-parse", "HEAD:c.txt")
    async with opened(root, tmp_path / "store") as store:
        asked = [small, packed, large, small]
        assert await store.bare.contents(asked) == [b"b\n", b"a\n", b"x" * (1 << 21), b"b\n"]
        assert await store.bare.contents(asked * 3) == [b"b\n", b"a\n", b"x" * (1 << 21), b"b\n"] * 3
        assert await store.bare.contents([]) == []


async def test_an_object_whose_content_does_not_match_its_id_is_never_returned(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    async with opened(root, tmp_path / "store") as store:
        kept = store.bare.write("blob", b"kept\n")
        other = store.bare.write("blob", b"other\n")
        places = [store.bare.git_dir / "objects" / id[:2] / id[2:] for id in (kept, other)]
        os.replace(places[1], places[0])
        assert store.bare._loose(kept) is None  # pyright: ignore[reportPrivateUsage] - the public way falls back on git, which would hide it


@pytest.mark.parametrize("id", ["xx/dev/zero", "../../config", "0" * 40])
async def test_an_object_that_is_not_in_the_store_is_reported_missing(tmp_path: Path, id: str) -> None:
    root = repository(tmp_path / "repo")
    async with opened(root, tmp_path / "store") as store:
        with pytest.raises(MachineryBroke, match="missing"):
            await store.bare.contents([id])
