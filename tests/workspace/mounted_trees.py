"""Random trees with random mounts, and every operation of a root in them.

    python mounted_trees.py PLACE SEED COUNT

Runs in a separate mount namespace. Prints the number of trees and of mounts.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

from donewhen.workspace import beneath
from donewhen.workspace.beneath import pin
from workspace.rooted_trees import NAMES, SECRET, attempts, plant, two_places

TARGETS = ("..", "../a", "b/c", "/etc", "OUTSIDE", "OUTSIDE/deep", "../outside", "../../outside", "/proc/self/cwd")


def main(place: Path, seed: int, count: int) -> None:
    choose, made = random.Random(seed), 0
    for number in range(count):
        with two_places(place / str(number)) as (root, outside):
            plant(root, outside, {random_path(choose): random_node(choose) for _ in range(10)})
            mounts = [each for each in (random_mount(choose, root) for _ in range(3)) if each]
            plant(root, outside, {random_path(choose): random_node(choose) for _ in range(5)})  # also in the mounts
            made += len(mounts)
            for beneath.kernel_resolves in (True, False):
                for _ in range(6):
                    for content in attempts(pin(root), random_path(choose)):
                        assert SECRET not in content
            for mount in reversed(mounts):
                subprocess.run(["umount", "--lazy", mount], check=True)
    sys.stdout.write(f"{count} trees, {made} mounts\n")


def random_path(choose: random.Random) -> str:
    return "/".join(choose.choice(NAMES) for _ in range(choose.randint(1, 3)))


def random_node(choose: random.Random) -> tuple[str, str]:
    kind = choose.choice(("dir", "file", "link"))
    return kind, choose.choice(TARGETS) if kind == "link" else ""


def random_mount(choose: random.Random, root: Path) -> str:
    """The target of a new mount: another directory of the tree, or an empty file system."""
    found = [path for path, _, _ in os.walk(root) if path != str(root)]
    if not found:
        return ""
    source, target = choose.choice(found), choose.choice(found)
    kind = ["-t", "tmpfs", "none"] if choose.random() < 0.3 else ["--bind", source]
    return target if subprocess.run(["mount", *kind, target], check=False).returncode == 0 else ""


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
