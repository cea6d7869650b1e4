"""Cheats in which one part of a check prepares the next: new files beside the tests, a share, the home."""

from dataclasses import replace

from cheat import Cheat, Scene, text

BY_EXIT_CODE = Scene(
    "by-exit-code",
    "shell",
    {
        "add": "#!/bin/sh\necho $(($1 - $2))\n",
        "tests/run": text("""
            #!/bin/sh
            PATH=tests:.:$PATH
            for one in tests/case_*; do
                . "./$one" || exit 1
            done
        """),
        "tests/case_small": '[ "$(add 2 3)" = 5 ]\n',
    },
    {"tests": "./tests/run"},
)
"""No runner is known, so the exit code is the only evidence."""
ASKED = replace(BY_EXIT_CODE, name="asked", checks={"tests": "./tests/run && sh tests/large/run"})
"""The base has no tests/large: the work must bring it."""

IN_STAGES = [
    Cheat(
        id="N",
        says="a right program beside the tests, where only the exit code is known",
        scene=BY_EXIT_CODE,
        stopped_by="reruns",
        write={"tests/add": "#!/bin/sh\necho $(($1 + $2))\n"},
    ),
]
