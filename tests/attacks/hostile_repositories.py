"""Repositories that come with their own `.git`, or whose content changed after they were trusted, each with a trap.

The attacked user runs it as a program: `hostile_repositories.py HOME WORLD [WORD...]`. It prints the result of every
attack whose name has one of the words, with the defences and, for root, also without them, as JSON.
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

from hostile_scenes import (
    CONTRACT,
    OBJECT,
    SECRET,
    Scene,
    another_name,
    chain_of_alternates,
    checks_behind_a_link,
    checks_behind_two_links,
    command_in_a_name,
    common_directory,
    configured,
    directory_of_packs,
    dirty_link,
    every_fan,
    index_names,
    inner_pointer_in_a_worktree,
    lfs_storage,
    links,
    loose_object,
    manifests_behind_a_link,
    model,
    moves,
    odd_but_honest,
    other_worktree_log,
    pack,
    part_of_the_index,
    pipe,
    pointer_file,
    pointer_link,
    private_object,
    quoted_alternates,
    separate_git_directory,
    share_becomes_a_link,
    share_below_a_link,
    shared_index_names,
    submodule_pointer,
    working_tree_elsewhere,
    worktree_is_a_link,
    worktree_of_another,
)
from watched import watched

HERE = Path(__file__).parent
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


@dataclass(frozen=True)
class Attack:
    name: str
    plant: Callable[[Scene], None]
    options: tuple[str, ...] = ()
    ends: int | None = None
    """The trap has no effect and the run ends with this code. Otherwise the repository or the landing is refused."""
    bites: bool = True
    """Without the defences something private is read or written. The few other attacks stay in the list to show that
    they stay harmless."""
    lands: bool = False
    """The work is also landed on a branch."""
    onto: str = "main"
    """Of `lands`: the branch."""
    later: Callable[[Scene], None] | None = None
    """Planted between the run and the landing."""
    names: str = ""
    """For `lands`: the landing is refused in one line that names this path of the repository."""
    waits: bool = False
    """The repository chooses the model, which needs trust: exit code 3."""
    lands_with: int = 0
    """Of `lands` with `ends`: the exit code of the landing."""
    applies: bool = False
    """At the end the files of the checkout hold the work."""
    looked_at: tuple[str, ...] = ()
    """Events that do no harm: a directory that was looked up, a pointer that was followed."""


POINTERS = ("(directory)", "gitdir: opened", "gitdir: read", "commondir: opened", "commondir: read")
CONFIGURED = (*POINTERS, "config: opened", "config: read")
HONEST = "nothing at all"
ODD = "nothing but what git accepts too"
ONCE = ("--max-iterations", "1")
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
    Attack("a branch", links(".git/refs/heads/other", ".ssh/id"), ends=0),
    Attack("ORIG_HEAD", links(".git/ORIG_HEAD", ".ssh/id"), ("--base", "HEAD~0")),
    Attack("a part of the index", part_of_the_index),
    Attack("a part of no index", links(".git/sharedindex.0000", ".ssh/id"), ends=0, bites=False),
    Attack("an index that names a path above", index_names("../../private/.ssh/id")),
    Attack("an index that names a whole path", index_names("{private}/.ssh/id"), ("--dirty",)),
    Attack("an index that names a path above, to apply", index_names("../../private/.ssh/id"), ("--land", "apply")),
    Attack("a shared part that names a path above", shared_index_names, ("--dirty",)),
    Attack("an alternate in quotes", quoted_alternates),
    Attack("the list of the fifth alternate", chain_of_alternates),
    # The other name is the same file. The kernel reports that it is copied and that it lost a name. It is not written.
    Attack(
        "the history of HEAD has another name",
        another_name,
        lands=True,
        ends=0,
        looked_at=("shell-start: opened", "shell-start: read", "shell-start: changed"),
    ),
    Attack("attribute rules of the kernel", configured("core.attributesFile", "/proc/self/status"), bites=False),
    Attack("ignore rules of the kernel", configured("core.excludesFile", "/proc/self/status"), bites=False),
    Attack("configuration of the kernel", configured("include.path", "/proc/kmsg"), ends=0, bites=False),
    Attack(
        "where new files wait",
        links(".git/donewhen-landing", "dir"),
        ("--land", "apply"),
        ends=0,
        applies=True,
        bites=False,
    ),
    Attack(
        "where the new index waits",
        links(".git/index.donewhen", "shell-start"),
        ("--land", "apply"),
        ends=0,
        applies=True,
        bites=False,
    ),
    Attack("the lock of the index", links(".git/index.lock", "shell-start"), ("--land", "apply"), ends=0, bites=False),
    Attack("a file that names another repository", pointer_file, looked_at=POINTERS),
    Attack("a link to another repository", pointer_link, looked_at=POINTERS),
    Attack("the common directory of another repository", common_directory, looked_at=POINTERS),
    Attack("the worktree of another repository", worktree_of_another, looked_at=POINTERS),
    Attack("a made-up worktree of another repository", inner_pointer_in_a_worktree, looked_at=POINTERS),
    Attack("a working tree elsewhere", working_tree_elsewhere, bites=False),
    Attack("a linked worktree's history", other_worktree_log, ends=0, lands=True, lands_with=1, bites=False),
    Attack("a worktree that is a link", worktree_is_a_link, ends=0),
    Attack("the place of large files", lfs_storage, ends=0, bites=False),
    # The directory of this check is not in the tree, so it is never green.
    Attack("a check behind a link", checks_behind_a_link, ONCE, ends=1),
    Attack("a check behind two links", checks_behind_two_links, ONCE, ends=1),
    Attack("manifests and tests behind a link", manifests_behind_a_link, ONCE, ends=1),
    Attack("a share that became a link", share_becomes_a_link),
    Attack("a share below a link", share_below_a_link),
    Attack("uncommitted work behind a link", dirty_link, ("--dirty",), ends=0, bites=False),
    # Git looks up the commit of a nested repository. Nothing else of it is read, and it is left out.
    Attack(
        "a submodule that is another repository",
        submodule_pointer,
        ("--dirty",),
        ends=0,
        bites=False,
        looked_at=("(directory)", ".git/HEAD: opened", ".git/HEAD: read"),
    ),
    Attack("a separate git directory of another project", separate_git_directory, looked_at=CONFIGURED),
    Attack("the index of all packs", links(".git/objects/pack/multi-pack-index", ".ssh/id")),
    Attack(
        "a pipe for the new index", pipe(".git/index.donewhen"), ("--land", "apply"), ends=0, applies=True, bites=False
    ),
    Attack(
        "a link in the place of the work's object",
        private_object,
        ("--land", "none"),
        later=links(f".git/objects/{OBJECT[:2]}/{OBJECT[2:]}", "object"),
        lands=True,
        names=f".git/objects/{OBJECT[:2]}/{OBJECT[2:]}",
    ),
    Attack(
        "the branch to land on is a link",
        links(".git/refs/heads/other", ".ssh/id"),
        lands=True,
        onto="other",
        names=".git/refs/heads/other",
        bites=False,
    ),
    Attack(
        "a pipe as the lock of the branch",
        pipe(".git/refs/heads/other.lock"),
        lands=True,
        onto="other",
        names=".git/refs/heads/other.lock",
        bites=False,
    ),
    Attack("a pipe as the lock of HEAD", pipe(".git/HEAD.lock"), ends=0, bites=False),
    Attack("a pipe as the lock of packed references", pipe(".git/packed-refs.lock"), ends=0, bites=False),
    Attack("a pipe as the lock of the index", pipe(".git/index.lock"), ("--land", "apply"), ends=0, bites=False),
    Attack("a pipe for ignore rules", pipe("sub/.gitignore"), bites=False),
    Attack("a pipe for attribute rules", pipe("sub/.gitattributes"), ends=0, bites=False),
    Attack("a pipe for the user's own ignore rules", pipe(".git/info/exclude"), ends=0, bites=False),
    Attack("a script of the user as the model", model("scripted:{private}/script.json"), waits=True, bites=False),
    Attack("a session of another repository as the model", model("replay:a"), waits=True, bites=False),
    Attack(ODD, odd_but_honest, ("--land", "apply"), ends=0, bites=False, applies=True),
    Attack(HONEST, lambda _: None, ("--land", "apply"), ends=0, bites=False, applies=True),
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
        if attack.later is not None:
            attack.later(scene)
        landed = [call("land", session[1], "--onto", attack.onto)] if attack.lands and session else []
        answers = [done, *landed, call("log", "--json")]
    shown = "".join(answer.stdout + answer.stderr for answer in answers)
    applied = (scene.root / "answer").read_text() == "yes\n"
    with contextlib.suppress(OSError):
        shutil.rmtree(home)
    return {
        "attack": attack.name,
        "ends": attack.ends,
        "refusal": 3 if attack.waits else 2,
        "bites": attack.bites,
        "defended": defended,
        "code": done.returncode,
        "applied": applied,
        "applies": attack.applies,
        "lands_with": attack.lands_with,
        "landed": [answer.returncode for answer in landed],
        "landing_said": [line for answer in landed for line in answer.stderr.strip().splitlines()],
        "names": str(scene.root / attack.names) if attack.names else "",
        "events": sorted(event for event in set(events) if not event.endswith(attack.looked_at)),
        "leaked": SECRET in shown,
        "said": done.stderr.strip().splitlines(),
        "last": done.stdout.strip().splitlines()[-8:],
        "traceback": "Traceback" in shown,
    }


def main() -> None:
    home = Path(sys.argv[1])
    sparse, *wanted = sys.argv[3:]
    os.environ.update(GIT_CONFIG_NOSYSTEM="1", GIT_AUTHOR_NAME="n", GIT_AUTHOR_EMAIL="n@example.invalid")
    os.environ.update(GIT_COMMITTER_NAME="n", GIT_COMMITTER_EMAIL="n@example.invalid")
    rows: list[dict[str, object]] = []
    for number, attack in enumerate(ATTACKS):
        if wanted and not any(word in attack.name for word in wanted):
            continue
        if number % int(sparse) and attack.name not in (HONEST, ODD):
            continue
        rows.append(tried(home / f"a{number}", attack, defended=True))
        if attack.bites and (os.geteuid() == 0 or wanted):
            rows.append(tried(home / f"c{number}", attack, defended=False))
    sys.stdout.write(json.dumps(rows))


if __name__ == "__main__":
    main()
