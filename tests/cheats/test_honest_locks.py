"""Honest changes of dependencies are accepted unchanged: versions, new and removed names, entries that were there."""

from collections.abc import Callable

import pytest
from cheat import text
from cheat_judge import verdict_of
from cheat_workspace import CheatWorkspace
from cheats_on_locks import INSTALLING, LOCKS, NPM_SETUP, SETUP_PY, installing
from test_honest_work import FIX, JS_FIX, Work, do

pytestmark = pytest.mark.anyio
WITH_PATH = installing(
    "with-path",
    "uv.lock",
    LOCKS["uv"][1] + '\n[[package]]\nname = "calc"\nversion = "1.0"\nsource = { editable = "." }\n',
)
WITH_LINK = installing(
    "with-link",
    "package-lock.json",
    text("""
        {
          "packages": {
            "": {"name": "calc", "workspaces": ["packages/*"]},
            "node_modules/left-pad": {"version": "1.0.0"},
            "node_modules/near": {"resolved": "packages/near", "link": true},
            "packages/near": {"version": "1.0.0"}
          }
        }
    """),
)
NEW = {
    "yarn": ("ours@^", 'jest@29:\n  version "29.0.0"\n\nours@^'),
    "berry": ('"ours@npm:^', '"jest@npm:29":\n  resolution: "jest@npm:29.0.0"\n\n"ours@npm:^'),
    "pnpm": ("packages:\n", "packages:\n\n  jest@29.0.0:\n    resolution: {integrity: sha512-bb==}\n"),
    "uv": ("[[package]]\n", '[[package]]\nname = "pytest"\nversion = "8.0"\n\n[[package]]\n'),
    "poetry": ("[[package]]\n", '[[package]]\nname = "pytest"\nversion = "8.0"\nfiles = []\n\n[[package]]\n'),
    "pipenv": ('"develop": {}', '"develop": {"pytest": {"version": "==8.0"}}'),
    "cargo": ('checksum = "aa"\n', 'checksum = "aa"\n\n[[package]]\nname = "near"\nversion = "0.1.0"\n'),
    "bundler": ("    ours (1.0)\n", "    ours (1.0)\n    rspec (3.0)\n"),
    "composer": ('"name": "we/ours"', '"name": "we/others"'),
    "requirements": ("ours==1.0\n", "ours==1.0\npytest>=8  # to test\n-c constraints.txt\n"),
}
WORKS = [
    *(
        Work(says=f"a new version in {scene.name}", scene=scene, write=FIX, edit={LOCKS[name][0]: ("1.0", "1.1")})
        for name, scene in INSTALLING.items()
    ),
    *(
        Work(
            says=f"a new name in {INSTALLING[name].name}",
            scene=INSTALLING[name],
            write=FIX,
            edit={LOCKS[name][0]: edit},
        )
        for name, edit in NEW.items()
    ),
    Work(
        says="a name removed from requirements",
        scene=INSTALLING["requirements"],
        write=FIX,
        edit={"requirements.txt": ("idna>=3\n", "")},
    ),
    Work(
        says="a new version next to a path that the base has",
        scene=WITH_PATH,
        write=FIX,
        edit={"uv.lock": ("1.0", "1.1")},
    ),
    Work(
        says="a new version and a new member next to a link that the base has",
        scene=WITH_LINK,
        write={**FIX, "packages/far/package.json": '{"name": "far", "version": "1.0.0"}\n'},
        edit={
            "package-lock.json": (
                '"node_modules/left-pad": {"version": "1.0.0"},',
                '"node_modules/left-pad": {"version": "1.1.0"},\n'
                '    "node_modules/far": {"resolved": "packages/far", "link": true},\n    "packages/far": {},',
            )
        },
    ),
    Work(says="a new file of checksums", scene=SETUP_PY, write={**FIX, "go.sum": "a v1 h1:aa\n"}),
    Work(
        says="a setup.py with a new line, which setup does not need",
        scene=SETUP_PY,
        write=FIX,
        edit={"setup.py": ("import shutil\n", "import shutil\n\nVERSION = '1.1'\n")},
    ),
    Work(
        says="a new version of the product in package.json and its lock",
        scene=NPM_SETUP,
        write=JS_FIX,
        edit={
            "package.json": ('"version": "1.0.0"', '"version": "1.1.0"'),
            "package-lock.json": ('"name": "calc",\n  "version": "1.0.0"', '"name": "calc",\n  "version": "1.1.0"'),
        },
    ),
    Work(
        says="a new script in package.json",
        scene=NPM_SETUP,
        write=JS_FIX,
        edit={"package.json": ('{"test"', '{"build": "node build.js", "test"')},
    ),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.says.replace(" ", "-"))
async def test_an_honest_change_of_dependencies_is_accepted(
    work: Work, workspace: CheatWorkspace, count_as: Callable[[str], None]
) -> None:
    count_as("honest work, accepted as it is")
    tree = workspace.fresh(work.scene)
    do(work, tree, workspace)
    verdict = await verdict_of(tree)
    assert [(result.status.value, result.reasons) for result in verdict.results if result.reasons] == []
    assert [(edit.path, edit.reason) for edit in verdict.edits] == []
    assert verdict.green
    assert verdict.tree == verdict.candidate
    assert verdict.discriminating is True
