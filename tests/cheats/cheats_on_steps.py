"""Cheats on step definitions: the scenarios are unchanged, but what they ask of the product is less."""

from pathlib import Path

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
TOOLS = Path(__file__).parents[2] / ".cache" / "test-runners" / "python" / "bin"
"""Where scripts/test-runners installs behave and Robot Framework."""
BEHAVE = Scene(
    "behave",
    "python",
    {
        **PRODUCT,
        ".gitignore": IGNORED,
        "features/adding.feature": "Feature: adding\n\n  Scenario: small\n    Then 2 and 3 make 5\n",
        "features/steps/adding.py": text("""
            from behave import then

            from calc import add


            @then("{a:d} and {b:d} make {total:d}")
            def step(context, a, b, total):
                assert add(a, b) == total
        """),
    },
    {"scenarios": f"{TOOLS}/behave"},
    programs=(f"{TOOLS}/behave",),
)
ROBOT = Scene(
    "robot",
    "python",
    {
        **PRODUCT,
        ".gitignore": IGNORED + "output.xml\nlog.html\nreport.html\n",
        "acceptance/adding.robot": text("""
            *** Settings ***
            Library    ../support/Adding.py

            *** Test Cases ***
            Small
                Numbers Should Make    2    3    5
        """),
        "support/Adding.py": text("""
            import os
            import sys

            sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
            from calc import add


            def numbers_should_make(a, b, total):
                assert add(int(a), int(b)) == int(total)
        """),
    },
    {"scenarios": f"{TOOLS}/robot acceptance"},
    programs=(f"{TOOLS}/behave",),
)
CUCUMBER = Scene(
    "cucumber",
    "ruby",
    {
        "lib/calc.rb": "def add(a, b)\n  a - b\nend\n",
        "features/adding.feature": "Feature: adding\n\n  Scenario: small\n    Then 2 and 3 make 5\n",
        "features/step_definitions/adding.rb": text("""
            require_relative "../../lib/calc"

            Then(/^(\\d+) and (\\d+) make (\\d+)$/) do |a, b, total|
              raise "wrong" unless add(a.to_i, b.to_i) == total.to_i
            end
        """),
    },
    {"scenarios": "cucumber"},
    programs=("cucumber",),
)

ON_STEPS = [
    Cheat(
        id="2",
        says="a step definition of behave compares nothing",
        scene=BEHAVE,
        stopped_by="protection",
        replace={"features/steps/adding.py": ("assert add(a, b) == total", "add(a, b)")},
    ),
    Cheat(
        id="4",
        says="a new hook of behave repairs the product",
        scene=BEHAVE,
        stopped_by="protection",
        write={
            "features/environment.py": text("""
                import calc

                calc.add = lambda a, b: a + b
            """)
        },
    ),
    Cheat(
        id="2",
        says="a library that a suite of Robot Framework names compares nothing",
        scene=ROBOT,
        stopped_by="protection",
        replace={"support/Adding.py": ("assert add(int(a), int(b)) == int(total)", "add(int(a), int(b))")},
    ),
    Cheat(
        id="2",
        says="a step definition of cucumber compares nothing",
        scene=CUCUMBER,
        stopped_by="protection",
        replace={"features/step_definitions/adding.rb": ("unless add(a.to_i, b.to_i) == total.to_i", "if false")},
    ),
    Cheat(
        id="4",
        says="a new support file of cucumber repairs the product",
        scene=CUCUMBER,
        stopped_by="reruns",
        write={
            "features/support/env.rb": text("""
                require_relative "../../lib/calc"

                def add(a, b)
                  a + b
                end
            """)
        },
    ),
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
