"""`make bench`: all measurements in one run, as ratios.

No figure is an error; a missing tool is.
"""

import importlib
import sys
from pathlib import Path

PARTS = (
    "processes",
    "trees",
    "capture",
    "judge",
    "observation",
    "log_follow",
    "model_turns",
    "echo_agents",
    "union_search",
    "union_projects",
    "foreman",
    "signatures",
)


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    for part in sys.argv[1:] or PARTS:
        print(f"\n== {part}")
        importlib.import_module(part).main()


if __name__ == "__main__":
    main()
