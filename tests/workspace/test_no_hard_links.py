"""File systems without hard links, or with no more links for a file: everything works, with copies and renames."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from needs import leave_out, needs
from repositories import ONE_FILE, git, opened, repository, try_git

PROGRAM = Path(__file__).with_name("no_hard_links.py")
ANSWERS = [0, errno.EPERM, errno.EACCES, errno.EXDEV, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK]
CONTRACT = '[[check]]\nname = "answer"\ncommand = "grep -q yes answer"\n'
SCRIPT = [{"tool": {"name": "write_file", "input": {"path": "answer", "content": "yes\n"}}}, {"text": "done"}]
MOST_TRIED = 70_000
"""More links than ext4 allows for a file. Other file systems allow more."""


@pytest.mark.sample(1)
@pytest.mark.parametrize("answer", ANSWERS, ids=["hard links", *(errno.errorcode[number] for number in ANSWERS[1:])])
def test_work_is_done_landed_and_discarded_on_file_systems_without_hard_links(tmp_path: Path, answer: int) -> None:
    needs("bwrap")
    root = repository(tmp_path / "r", {"answer": "no\n", "donewhen.toml": CONTRACT})
    git(root, "repack", "-adq")
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, PROGRAM, str(answer), *arguments]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=120)

    model = f"scripted:{tmp_path / 'script.json'}"
    ran = call("run", "say yes", "--engine", "native", "--model", model, "--land", "apply")
    assert ran.returncode == 0, ran.stderr
    assert git(root, "status", "--porcelain") == "M  answer"
    (branch,) = git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads/donewhen").splitlines()
    assert git(root, "show", f"{branch}:answer") == "yes"
    assert try_git(root, "fsck", "--strict", "--full").returncode == 0
    git(root, "pack-refs", "--all")
    assert call("discard", branch.removeprefix("donewhen/")).returncode == 0
    assert git(root, "for-each-ref", "refs/heads/donewhen") == ""
    left = [path.name for path in (root / ".git").rglob("*") if path.suffix == ".lock" or path.name.startswith("tmp_")]
    assert left == []


@pytest.mark.anyio
async def test_an_object_with_too_many_links_is_copied_into_the_store(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", ONE_FILE)
    head = git(root, "rev-parse", "HEAD")
    source, links = root / ".git" / "objects" / head[:2] / head[2:], tmp_path / "links"
    links.mkdir()
    use_up_links(source, links)
    async with opened(root, tmp_path / "state") as store:
        copy = store.bare.git_dir / "objects" / head[:2] / head[2:]
        assert not copy.samefile(source) and copy.read_bytes() == source.read_bytes()
        assert await store.tree_of(head) == git(root, "rev-parse", "HEAD^{tree}")
        next(links.iterdir()).unlink()
    async with opened(root, tmp_path / "other") as store:
        assert (store.bare.git_dir / "objects" / head[:2] / head[2:]).samefile(source)


def use_up_links(source: Path, links: Path) -> None:
    for number in range(MOST_TRIED):
        try:
            os.link(source, links / str(number))
        except OSError as error:
            assert error.errno == errno.EMLINK
            return
    leave_out("a file system that limits the links of a file")
