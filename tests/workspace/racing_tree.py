"""Change a tree continuously at random: exchange names, links with directories, the root with a link.

    python racing_tree.py PLACE SEED

Runs until it is killed. Prints `ready` once it has started.
"""

import ctypes
import os
import random
import sys

NAMES = (b"a", b"b", b"c", b"a/a", b"a/b", b"b/a", b"b/c", b"c/a", b"turn", b"other")
EXCHANGE = 2


def main(place: str, seed: int) -> None:
    rename = ctypes.CDLL(None).renameat2
    choose = random.Random(seed)
    above = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    root = os.open("root", os.O_RDONLY | os.O_DIRECTORY, dir_fd=above)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        for _ in range(8):
            rename(root, choose.choice(NAMES), root, choose.choice(NAMES), EXCHANGE)
        if choose.random() < 0.5:  # the root itself, which a later turn puts back
            rename(above, b"root", above, b"link", EXCHANGE)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
