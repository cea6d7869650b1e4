"""Functions that make the repositories of `hostile_repositories`, one for each trap."""

import hashlib
import os
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

SECRET = "the-private-key-of-this-user"
FANS = [f"{number:02x}" for number in range(256)]
OBJECT = hashlib.sha1(b"blob 4\0yes\n", usedforsecurity=False).hexdigest()
"""The file that the work writes."""
CONTRACT = '[[check]]\nname = "answer"\ncommand = "cat docs/.ssh/id .ssh/id id; grep -q yes answer"\n'


@dataclass(frozen=True)
class Scene:
    home: Path

    @property
    def root(self) -> Path:
        return self.home / "code" / "repo"

    @property
    def git(self) -> Path:
        return self.root / ".git"

    @property
    def private(self) -> Path:
        """Files that belong to the user and not to a foreign repository."""
        return self.home / "private"

    def link(self, name: str, target: str) -> None:
        """A link in the repository to something private, in place of the original file."""
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        place.symlink_to(self.private / target)

    def moved(self, name: str, target: str) -> None:
        """The same, with a target that holds the original content, so that the repository still works."""
        (self.root / name).rename(self.private / target)
        self.link(name, target)

    def run_git(self, *arguments: str, at: Path | None = None) -> str:
        done = subprocess.run(["git", *arguments], cwd=at or self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str) -> None:
        self.run_git("add", "--all")
        self.run_git("commit", "--quiet", "-m", message)


def links(name: str, target: str) -> Callable[[Scene], None]:
    return lambda scene: scene.link(name, target)


def moves(name: str, target: str) -> Callable[[Scene], None]:
    return lambda scene: scene.moved(name, target)


def another_repository(scene: Scene) -> Path:
    place = scene.private / "project"
    place.mkdir()
    scene.run_git("init", "--quiet", "-b", "main", at=place)
    (place / "answer").write_text(f"{SECRET}\n")
    (place / "donewhen.toml").write_text(CONTRACT)
    scene.run_git("add", "--all", at=place)
    scene.run_git("commit", "--quiet", "-m", "private", at=place)
    return place


def pointer_file(scene: Scene) -> None:
    target = another_repository(scene)
    shutil.rmtree(scene.git)
    scene.git.write_text(f"gitdir: {target}/.git\n")


def pointer_link(scene: Scene) -> None:
    target = another_repository(scene)
    shutil.rmtree(scene.git)
    scene.git.symlink_to(target / ".git")


def common_directory(scene: Scene) -> None:
    target = another_repository(scene)
    (scene.git / "commondir").write_text(f"{target}/.git\n")
    (scene.git / "HEAD").write_text("ref: refs/heads/main\n")


def worktree_of_another(scene: Scene) -> None:
    target = another_repository(scene)
    scene.run_git("worktree", "add", "--quiet", "../tree", at=target)
    shutil.rmtree(scene.git)
    scene.git.write_text(f"gitdir: {target}/.git/worktrees/tree\n")


def inner_pointer_in_a_worktree(scene: Scene) -> None:
    """A made-up worktree inside the archive. Its common directory is the user's other repository."""
    target = another_repository(scene)
    made = scene.root / "worktrees" / "made"
    made.mkdir(parents=True)
    (made / "HEAD").write_text("ref: refs/heads/main\n")
    (made / "commondir").write_text(f"{target}/.git\n")
    (made / "gitdir").write_text(f"{scene.git}\n")
    shutil.rmtree(scene.git)
    scene.git.write_text(f"gitdir: {made}\n")


def working_tree_elsewhere(scene: Scene) -> None:
    scene.run_git("config", "core.worktree", str(scene.private))


def every_fan(scene: Scene) -> None:
    (scene.private / "fan").mkdir()
    for fan in FANS:
        if not (scene.git / "objects" / fan).exists():
            scene.link(f".git/objects/{fan}", "fan")


def loose_object(scene: Scene) -> None:
    fan = next(place for place in (scene.git / "objects").iterdir() if len(place.name) == 2)
    scene.link(f".git/objects/{fan.name}/{'0' * 38}", ".ssh/id")


def pack(scene: Scene) -> None:
    scene.run_git("repack", "-adq")
    for suffix in ("pack", "idx"):
        scene.link(f".git/objects/pack/pack-{'0' * 40}.{suffix}", ".ssh/id")


def directory_of_packs(scene: Scene) -> None:
    scene.run_git("repack", "-adq")
    scene.moved(".git/objects/pack", "pack")


def other_worktree_log(scene: Scene) -> None:
    """A linked worktree on the branch that is landed on. Its reflog of HEAD is a link."""
    made = scene.git / "worktrees" / "made"
    (made / "logs").mkdir(parents=True)
    (made / "HEAD").write_text("ref: refs/heads/main\n")
    (made / "commondir").write_text("../..\n")
    (made / "gitdir").write_text(f"{scene.home}/nowhere/.git\n")
    scene.link(".git/worktrees/made/logs/HEAD", "shell-start")


def worktree_is_a_link(scene: Scene) -> None:
    (scene.private / "tree").mkdir()
    (scene.private / "tree" / "HEAD").write_text("ref: refs/heads/main\n")
    scene.link(".git/worktrees/made", "tree")


def lfs_storage(scene: Scene) -> None:
    (scene.root / ".gitattributes").write_text("big filter=lfs\n")
    oid = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393"
    (scene.root / "big").write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 5\n")
    place = scene.private / "content" / "objects" / oid[:2] / oid[2:4]
    place.mkdir(parents=True)
    (place / oid).write_text("12345")
    scene.commit("a large file")
    scene.run_git("config", "lfs.storage", str(scene.private / "content"))


def checks_behind_a_link(scene: Scene) -> None:
    (scene.root / "docs").symlink_to(scene.home)
    more = (
        '[contract]\nprotect = ["**"]\n[[check]]\nname = "docs"\ndir = "docs/.ssh"\ncommand = "cat id; ls -la; false"\n'
    )
    (scene.root / "donewhen.toml").write_text(CONTRACT + more)
    scene.commit("look at the documentation")


def checks_behind_two_links(scene: Scene) -> None:
    (scene.root / "away").symlink_to(scene.home)
    (scene.root / "docs").symlink_to("away/.ssh")
    more = '[contract]\nprotect = ["**"]\n[[check]]\nname = "docs"\ndir = "docs"\ncommand = "cat id; ls -la; false"\n'
    (scene.root / "donewhen.toml").write_text(CONTRACT + more)
    scene.commit("look at the documentation")


def manifests_behind_a_link(scene: Scene) -> None:
    """The judge reads scripts, manifests and tests of the base to find out how a check runs its tests."""
    (scene.private / "package.json").write_text('{"scripts": {"test": "node --test"}}')
    (scene.private / "test_private.py").write_text(f"def test_one(): pass\n# {SECRET}\n")
    scene.link("pkg", "")
    more = '[[check]]\nname = "pkg"\ndir = "pkg"\ncommand = "npm test; python3 -m pytest test_private.py; true"\n'
    (scene.root / "donewhen.toml").write_text(CONTRACT + more)
    scene.commit("test the package")


def share(scene: Scene, value: str) -> None:
    (scene.root / ".gitignore").write_text("shared\ndeps/\n")
    (scene.root / "donewhen.toml").write_text(f'[workspace]\nshare = ["{value}"]\n{CONTRACT}')
    scene.commit("share it")


def share_becomes_a_link(scene: Scene) -> None:
    """Trusted as a directory and replaced later."""
    share(scene, "shared")
    (scene.root / "shared").mkdir()
    trust(scene)
    scene.link("shared", "")


def share_below_a_link(scene: Scene) -> None:
    """A commit turns the parent directory into a link. The trusted file does not change."""
    (scene.root / "lib" / "deps").mkdir(parents=True)
    (scene.root / "lib" / "kept").write_text("x")
    (scene.private / "deps").mkdir()
    (scene.private / "deps" / "id").write_text(SECRET)
    share(scene, "lib/deps")
    trust(scene)
    shutil.rmtree(scene.root / "lib")
    scene.link("lib", "")
    scene.commit("move the library")


def trust(scene: Scene) -> None:
    subprocess.run([sys.executable, "-m", "donewhen", "trust"], cwd=scene.root, check=True, capture_output=True)


def dirty_link(scene: Scene) -> None:
    (scene.root / "data").mkdir()
    (scene.root / "data" / "id").write_text("tracked")
    scene.commit("data")
    shutil.rmtree(scene.root / "data")
    scene.link("data", ".ssh")


def submodule_pointer(scene: Scene) -> None:
    target = another_repository(scene)
    (scene.root / "sub").mkdir()
    (scene.root / "sub" / ".git").write_text(f"gitdir: {target}/.git\n")


def private_object(scene: Scene) -> None:
    (scene.private / "object").write_bytes(zlib.compress(b"blob 4\0yes\n"))


def command_in_a_name(scene: Scene) -> None:
    scene.run_git("config", "user.name", f"x $(touch {scene.private}/made); touch {scene.private}/made & \x1b]0;x\x07")
    scene.moved(".git/logs/HEAD", "shell-start")


def separate_git_directory(scene: Scene) -> None:
    target = another_repository(scene)
    scene.run_git("init", "--quiet", f"--separate-git-dir={scene.private / 'apart'}", at=target)
    shutil.rmtree(scene.git)
    scene.git.write_text(f"gitdir: {scene.private / 'apart'}\n")


def index_entry(name: bytes, size: int) -> bytes:
    """Git must read the file to know whether it changed."""
    head = struct.pack(">10L", *[0] * 6, 0o100644, 0, 0, size) + bytes.fromhex(OBJECT) + struct.pack(">H", len(name))
    return head + name + bytes(8 - (len(head) + len(name)) % 8)


def index_of(*names: str) -> bytes:
    entries = [index_entry(name.encode(), len(SECRET) + 1) for name in names]
    body = struct.pack(">4sLL", b"DIRC", 2, len(entries)) + b"".join(entries)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def index_names(place: str) -> Callable[[Scene], None]:
    def plant(scene: Scene) -> None:
        (scene.git / "index").write_bytes(index_of(place.format(private=scene.private)))

    return plant


def shared_index_names(scene: Scene) -> None:
    """The same in the shared part of a split index."""
    scene.run_git("update-index", "--split-index")
    (part,) = scene.git.glob("sharedindex.*")
    (scene.root / "z").mkdir()
    shared = index_of("answer", "donewhen.toml", "z/../../../private/.ssh/id")
    (scene.git / f"sharedindex.{shared[-20:].hex()}").write_bytes(shared)
    body = (scene.git / "index").read_bytes()[:-20].replace(bytes.fromhex(part.suffix[1:]), shared[-20:])
    (scene.git / "index").write_bytes(body + hashlib.sha1(body, usedforsecurity=False).digest())


def part_of_the_index(scene: Scene) -> None:
    scene.run_git("update-index", "--split-index")
    (part,) = scene.git.glob("sharedindex.*")
    scene.moved(str(part.relative_to(scene.root)), "part")


def quoted_alternates(scene: Scene) -> None:
    borrowed = scene.root / "objects2"
    (borrowed / "info").mkdir(parents=True)
    (borrowed / "info" / "alternates").symlink_to(scene.private / ".ssh" / "id")
    (scene.git / "objects" / "info" / "alternates").write_text(f'"{borrowed}"\n')


def chain_of_alternates(scene: Scene) -> None:
    """Git reads the list of the fifth alternate and none after it."""
    places = [scene.git / "objects", *(scene.root / "borrowed" / str(number) for number in range(5))]
    for place, after in pairwise(places):
        (after / "info").mkdir(parents=True)
        (place / "info" / "alternates").write_text(f"{after}\n")
    (places[-1] / "info" / "alternates").symlink_to(scene.private / ".ssh" / "id")


def another_name(scene: Scene) -> None:
    (scene.git / "logs" / "HEAD").unlink()
    (scene.git / "logs" / "HEAD").hardlink_to(scene.private / "shell-start")


def configured(key: str, value: str) -> Callable[[Scene], None]:
    def plant(scene: Scene) -> None:
        scene.run_git("config", key, value)

    return plant


def odd_but_honest(scene: Scene) -> None:
    """Unusual repositories that git accepts: a byte order mark, a split index, a quoted alternate, a hard-linked
    reflog."""
    config = scene.git / "config"
    config.write_bytes(b"\xef\xbb\xbf" + config.read_bytes())
    scene.run_git("update-index", "--split-index")
    place = scene.home / "other"
    scene.run_git("init", "--quiet", "--bare", str(place))
    (scene.git / "objects" / "info" / "alternates").write_text(f'"{place}/objects"\n')
    (scene.home / "backup").hardlink_to(scene.git / "logs" / "HEAD")


def pipe(name: str) -> Callable[[Scene], None]:
    def plant(scene: Scene) -> None:
        (scene.root / name).parent.mkdir(exist_ok=True)
        (scene.root / name).unlink(missing_ok=True)
        os.mkfifo(scene.root / name)

    return plant


def model(value: str) -> Callable[[Scene], None]:
    def plant(scene: Scene) -> None:
        (scene.private / "script.json").write_text(f'["{SECRET}"]')
        text = f"[engine]\nuse = 'native'\n[model]\nuse = '{value.format(private=scene.private)}'\n{CONTRACT}"
        (scene.root / "donewhen.toml").write_text(text)
        scene.commit("choose a model")

    return plant
