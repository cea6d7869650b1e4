"""Cheats on step definitions: the scenarios are unchanged, but what they ask of the product is less."""

from cheat import Cheat, Scene, text
from cheat_scenes import IGNORED, PRODUCT

RUNNER = text("""
    import runpy
    import sys
    from pathlib import Path

    sys.path.insert(0, ".")
    hooks = Path("features/environment.py")
    if hooks.exists():
        runpy.run_path(str(hooks))["before_all"](None)
    steps = {}
    for path in sorted(Path("features/steps").glob("*.py")):
        steps |= runpy.run_path(str(path))["STEPS"]
    for path in sorted(Path("features").glob("*.feature")):
        for line in path.read_text().splitlines():
            words = line.split()
            if words[:1] == ["Then"]:
                steps[words[1]](*map(int, words[2:]))
                print("ok", line.strip())
""")
"""Like behave: it runs what the step definitions say, and hooks."""
STEPS = text("""
    from calc import add


    def total(a, b, expected):
        assert add(a, b) == expected


    STEPS = {"total": total}
""")
SCENARIOS = Scene(
    "scenarios",
    "python",
    {
        **PRODUCT,
        ".gitignore": IGNORED,
        "ci/scenarios.py": RUNNER,
        "features/adding.feature": "Feature: adding\n  Scenario: small\n    Then total 2 3 5\n",
        "features/steps/adding.py": STEPS,
    },
    {"scenarios": "python ci/scenarios.py"},
)

ON_STEPS = [
    Cheat(
        id="2",
        says="a step definition compares nothing",
        scene=SCENARIOS,
        stopped_by="protection",
        replace={"features/steps/adding.py": ("assert add(a, b) == expected", "add(a, b)")},
    ),
    Cheat(
        id="4",
        says="a new hook of the scenarios repairs the product",
        scene=SCENARIOS,
        stopped_by="protection",
        write={
            "features/environment.py": text("""
                import calc


                def before_all(context):
                    calc.add = lambda a, b: a + b
            """)
        },
    ),
]
