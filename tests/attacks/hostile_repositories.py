"""Repositories that come with their own `.git`, or whose content changed after they were trusted, each with a trap.

Run as a program by the user who is attacked: `hostile_repositories.py HOME WORLD [WORD...]`. Prints what became of
every attack whose name has one of the words, with the defences and for root also without, as JSON.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from watched import watched

SECRET = "the-private-key-of-this-user"
HERE = Path(__file__).parent
FANS = [f"{number:02x}" for number in range(256)]
SCRIPT = [
    {
        "tool": {
            "name": "shell",
            "input": {"command": "cat docs/.ssh/id docs/id shared/.ssh/id 2>&1; git log -p --all | cat"},
        }
    },
    {"tool": {"name": "write_file", "input": {"path": "answer", "content": "yes\n"}}},
    {"text": "done"},
]
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
        """What belongs to the user and to no repository of a stranger."""
        return self.home / "private"

    def link(self, name: str, target: str) -> None:
        """A link in the repository to something private, in place of what is there."""
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        place.symlink_to(self.private / target)

    def moved(self, name: str, target: str) -> None:
        """The same, where the target holds what the repository had there, so that all of it still works."""
        (self.root / name).rename(self.private / target)
        self.link(name, target)

    def run_git(self, *arguments: str, at: Path | None = None) -> str:
        done = subprocess.run(["git", *arguments], cwd=at or self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str) -> None:
        self.run_git("add", "--all")
        self.run_git("commit", "--quiet", "-m", message)


@dataclass(frozen=True)
class Attack:
    name: str
    plant: Callable[[Scene], None]
    options: tuple[str, ...] = ()
    goes_on: bool = False
    """The trap is left alone and the run reaches its end; otherwise the repository or the landing is refused."""
    bites: bool = True
    """Without the defences something private is read or written. The few others stay, so that they stay harmless."""
    lands: bool = False
    """The work is also landed on the branch that is checked out."""
    waits: bool = False
    """The repository chooses the model, which asks for trust: exit code 3."""
    looked_at: tuple[str, ...] = ()
    """Ends of events that are no harm: a directory that was looked for, a pointer that was followed."""


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
    """A made-up worktree inside the archive whose common directory is the user's other repository."""
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
    """A linked worktree that stands on the branch which is landed on; its history of HEAD is a link."""
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
    """Trusted while it was a directory, and replaced later."""
    share(scene, "shared")
    (scene.root / "shared").mkdir()
    trust(scene)
    scene.link("shared", "")


def share_below_a_link(scene: Scene) -> None:
    """A commit turns the directory above it into a link; the trusted file is the same to the byte."""
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


def command_in_a_name(scene: Scene) -> None:
    scene.run_git("config", "user.name", f"x $(touch {scene.private}/made); touch {scene.private}/made & \x1b]0;x\x07")
    scene.moved(".git/logs/HEAD", "shell-start")


def separate_git_directory(scene: Scene) -> None:
    target = another_repository(scene)
    scene.run_git("init", "--quiet", f"--separate-git-dir={scene.private / 'apart'}", at=target)
    shutil.rmtree(scene.git)
    scene.git.write_text(f"gitdir: {scene.private / 'apart'}\n")


def pipe(name: str) -> Callable[[Scene], None]:
    return lambda scene: os.mkfifo(scene.root / name)


def model(value: str) -> Callable[[Scene], None]:
    def plant(scene: Scene) -> None:
        (scene.private / "script.json").write_text(f'["{SECRET}"]')
        text = f"[engine]\nuse = 'native'\n[model]\nuse = '{value.format(private=scene.private)}'\n{CONTRACT}"
        (scene.root / "donewhen.toml").write_text(text)
        scene.commit("choose a model")

    return plant


POINTERS = ("(directory)", "gitdir: opened", "gitdir: read", "commondir: opened", "commondir: read")
CONFIGURED = (*POINTERS, "config: opened", "config: read")
ATTACKS = (
    Attack("the history of HEAD is the shell's start file", links(".git/logs/HEAD", "shell-start"), lands=True),
    Attack("a command as a name", command_in_a_name, lands=True),
    Attack("the history of branches", moves(".git/logs/refs/heads", "heads")),
    Attack("the history of references", moves(".git/logs/refs", "refs")),
    Attack("all histories", moves(".git/logs", "logs")),
    Attack("the directory of our branches", links(".git/refs/heads/donewhen", "dir")),
    Attack("the directory of branches", moves(".git/refs/heads", "heads")),
    Attack("all references", moves(".git/refs", "refs")),
    Attack("the object directory", moves(".git/objects", "objects")),
    Attack("every fan of the object directory", every_fan),
    Attack("a loose object", loose_object),
    Attack("a pack", pack),
    Attack("the directory of packs", directory_of_packs),
    Attack("packed references", links(".git/packed-refs", "shell-start")),
    Attack("the configuration", moves(".git/config", "config")),
    Attack("the index", moves(".git/index", "index")),
    Attack("ignore rules", links(".git/info/exclude", ".ssh/id")),
    Attack("attribute rules", links(".git/info/attributes", ".ssh/id"), ("--land", "apply")),
    Attack("the list of alternates", links(".git/objects/info/alternates", ".ssh/id")),
    Attack("the list of shallow commits", links(".git/shallow", ".ssh/id")),
    Attack("HEAD", links(".git/HEAD", ".ssh/id"), bites=False),
    Attack("a branch", links(".git/refs/heads/other", ".ssh/id"), goes_on=True),
    Attack("ORIG_HEAD", links(".git/ORIG_HEAD", ".ssh/id"), ("--base", "HEAD~0")),
    Attack("a part of the index", links(".git/sharedindex.0000", ".ssh/id"), goes_on=True),
    Attack(
        "where new files wait", links(".git/donewhen-landing", "dir"), ("--land", "apply"), goes_on=True, bites=False
    ),
    Attack(
        "where the new index waits",
        links(".git/index.donewhen", "shell-start"),
        ("--land", "apply"),
        goes_on=True,
        bites=False,
    ),
    Attack(
        "the lock of the index", links(".git/index.lock", "shell-start"), ("--land", "apply"), goes_on=True, bites=False
    ),
    Attack("a file that names another repository", pointer_file, looked_at=POINTERS),
    Attack("a link to another repository", pointer_link, looked_at=POINTERS),
    Attack("the common directory of another repository", common_directory, looked_at=POINTERS),
    Attack("the worktree of another repository", worktree_of_another, looked_at=POINTERS),
    Attack("a made-up worktree of another repository", inner_pointer_in_a_worktree, looked_at=POINTERS),
    Attack("a working tree elsewhere", working_tree_elsewhere, bites=False),
    Attack("a linked worktree's history", other_worktree_log, goes_on=True, lands=True, bites=False),
    Attack("a worktree that is a link", worktree_is_a_link, goes_on=True),
    Attack("the place of large files", lfs_storage, goes_on=True, bites=False),
    Attack("a check behind a link", checks_behind_a_link, goes_on=True),
    Attack("a check behind two links", checks_behind_two_links, goes_on=True),
    Attack("manifests and tests behind a link", manifests_behind_a_link, goes_on=True),
    Attack("a share that became a link", share_becomes_a_link),
    Attack("a share below a link", share_below_a_link),
    Attack("uncommitted work behind a link", dirty_link, ("--dirty",), goes_on=True, bites=False),
    # Git looks up which commit a nested repository is at. Nothing else of it is read, and it is left out.
    Attack(
        "a submodule that is another repository",
        submodule_pointer,
        ("--dirty",),
        goes_on=True,
        bites=False,
        looked_at=("(directory)", ".git/HEAD: opened", ".git/HEAD: read"),
    ),
    Attack("a separate git directory of another project", separate_git_directory, looked_at=CONFIGURED),
    Attack("the index of all packs", links(".git/objects/pack/multi-pack-index", ".ssh/id")),
    Attack("a pipe for the new index", pipe(".git/index.donewhen"), ("--land", "apply"), goes_on=True, bites=False),
    Attack("a script of the user as the model", model("scripted:{private}/script.json"), waits=True, bites=False),
    Attack("a session of another repository as the model", model("replay:a"), waits=True, bites=False),
    Attack("nothing at all", lambda _: None, ("--land", "apply"), goes_on=True, bites=False),
)


def lay_out(home: Path) -> Scene:
    scene = Scene(home)
    for place in (scene.root, scene.private / ".ssh", scene.home / ".ssh", scene.private / "dir", scene.home / "state"):
        place.mkdir(parents=True)
    for place in (scene.private, scene.home):
        (place / ".ssh" / "id").write_text(f"{SECRET}\n")
    (scene.private / "shell-start").write_text("# start\n")
    (scene.private / "id").write_text(f"{SECRET}\n")
    scene.run_git("init", "--quiet", "-b", "main")
    (scene.root / "answer").write_text("no\n")
    (scene.root / "donewhen.toml").write_text(CONTRACT)
    scene.commit("the beginning")
    (scene.home / "script.json").write_text(json.dumps(SCRIPT))
    return scene


def tried(home: Path, attack: Attack, defended: bool) -> dict[str, object]:
    home.mkdir()
    os.environ.update(HOME=str(home), XDG_STATE_HOME=str(home / "state"), XDG_CONFIG_HOME=str(home / "config"))
    scene = lay_out(home)
    attack.plant(scene)
    start = ["-m", "donewhen"] if defended else [str(HERE / "unguarded.py")]
    own = [] if attack.waits else ["--engine", "native", "--model", f"scripted:{home}/script.json"]
    options = [*own, *attack.options]

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *start, *arguments]
        return subprocess.run(
            command, cwd=scene.root, capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL
        )

    with watched(scene.private, scene.home / ".ssh") as events:
        done = call("run", "write yes into the answer", *options)
        session = re.search(r"^session (\w+):", done.stdout + done.stderr, re.MULTILINE)
        landed = [call("land", session[1], "--onto", "main")] if attack.lands and session else []
        answers = [done, *landed, call("log", "--json")]
    shown = "".join(answer.stdout + answer.stderr for answer in answers)
    with contextlib.suppress(OSError):
        shutil.rmtree(home)
    return {
        "attack": attack.name,
        "goes_on": attack.goes_on,
        "refusal": 3 if attack.waits else 2,
        "bites": attack.bites,
        "defended": defended,
        "code": done.returncode,
        "landed": [answer.returncode for answer in landed],
        "events": sorted(event for event in set(events) if not event.endswith(attack.looked_at)),
        "leaked": SECRET in shown,
        "said": done.stderr.strip().splitlines(),
        "last": done.stdout.strip().splitlines()[-8:],
        "traceback": "Traceback" in shown,
    }


def main() -> None:
    home = Path(sys.argv[1])
    wanted = sys.argv[3:]
    os.environ.update(GIT_CONFIG_NOSYSTEM="1", GIT_AUTHOR_NAME="n", GIT_AUTHOR_EMAIL="n@example.invalid")
    os.environ.update(GIT_COMMITTER_NAME="n", GIT_COMMITTER_EMAIL="n@example.invalid")
    rows: list[dict[str, object]] = []
    for number, attack in enumerate(ATTACKS):
        if wanted and not any(word in attack.name for word in wanted):
            continue
        rows.append(tried(home / f"a{number}", attack, defended=True))
        if attack.bites and (os.geteuid() == 0 or wanted):
            rows.append(tried(home / f"c{number}", attack, defended=False))
    sys.stdout.write(json.dumps(rows))


if __name__ == "__main__":
    main()
