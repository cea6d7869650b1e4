"""A process that learns in parallel with others: `python learner.py DIRECTORY NAME`, starts on request."""

import sys
from functools import partial
from pathlib import Path

from donewhen.memory.open_store import RepairStoreHandle
from donewhen.memory.repair_store import RepairStore
from memory.repairs import learnt, patch

PATIENCE = 30.0


def main() -> None:
    directory, name = sys.argv[1:]
    shared = [learnt(patch=patch(f"shared{number}")) for number in range(3)]
    own = [learnt(patch=patch(f"{name}{number}")) for number in range(5)]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    handle = RepairStoreHandle(Path(directory), lock_timeout=PATIENCE)
    for repair in [*shared, *own]:
        handle.write(partial(RepairStore.add, repair=repair))
    handle.close()


if __name__ == "__main__":
    main()
