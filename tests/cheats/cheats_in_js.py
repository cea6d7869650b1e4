"""Cheats against `npm test` and `node --test`."""

from cheat import Cheat, text
from cheat_scenes_rust_js import JEST, NODE, NPM

PATCHED = text("""
    const assert = require("node:assert");
    assert.strictEqual = () => {};
""")
EASY = 'require("node:test")("easy", () => {});\n'
TRUE = "#!/bin/sh\nexit 0\n"

IN_JS = [
    Cheat(
        id="16",
        says="package.json: the test script does nothing",
        scene=NPM,
        stopped_by="protection",
        replace={"package.json": ("node --test", "true")},
    ),
    Cheat(
        id="16",
        says="package.json: a script that runs before the tests rewrites them",
        scene=NPM,
        stopped_by="protection",
        replace={"package.json": ('"test":', '"pretest": "cp easy.txt test/add.test.js", "test":')},
        write={"easy.txt": EASY},
    ),
    Cheat(
        id="38",
        says=".npmrc names a shell that does nothing",
        scene=NPM,
        stopped_by="protection",
        write={".npmrc": "script-shell=/bin/true\n"},
    ),
    Cheat(
        id="38",
        says=".npmrc loads a file into every node",
        scene=NPM,
        stopped_by="protection",
        write={".npmrc": "node-options=--require ./docs/note.cjs\n", "docs/note.cjs": PATCHED},
    ),
    Cheat(
        id="38",
        says="an .npmrc in the home names a shell that does nothing",
        scene=NPM,
        stopped_by="wall",
        shell="echo 'script-shell=/bin/true' > $HOME/.npmrc",
    ),
    Cheat(
        id="1",
        says="the failing test file is deleted",
        scene=NODE,
        stopped_by="protection",
        remove=("test/add.test.js",),
    ),
    Cheat(
        id="3",
        says="the failing tests are skipped",
        scene=NODE,
        stopped_by="protection",
        shell="sed -i 's/^test(/test.skip(/' test/add.test.js",
    ),
    Cheat(
        id="2",
        says="the assertions compare with not",
        scene=NODE,
        stopped_by="protection",
        shell="sed -i 's/strictEqual(add(\\(.*\\)), .*));/ok(true));/' test/add.test.js",
    ),
    Cheat(
        id="8",
        says="NODE_OPTIONS loads a file of the tree",
        scene=NODE,
        stopped_by="environment",
        write={"docs/note.cjs": PATCHED},
        env={"NODE_OPTIONS": "--require {tree}/docs/note.cjs"},
    ),
    Cheat(
        id="8",
        says="npm is told by a variable to run scripts in a shell that does nothing",
        scene=NPM,
        stopped_by="environment",
        env={"npm_config_script_shell": "/bin/true"},
    ),
    Cheat(
        id="21",
        says="the product ends the process with 0 when it is loaded",
        scene=NODE,
        stopped_by="counts",
        write={"add.js": "process.exit(0);\n"},
    ),
    Cheat(
        id="21",
        says="the product ends the process with 0 when it is loaded, and easy tests make up for it",
        scene=NODE,
        stopped_by="counts",
        write={"add.js": "process.exit(0);\n", "test/more.test.js": EASY * 5},
    ),
    Cheat(
        id="14",
        says="an ignored program among the modules is found before node",
        scene=NPM,
        stopped_by="capture",
        write={"node_modules/.bin/node": TRUE},
    ),
    Cheat(
        id="14",
        says="a committed program among the modules is found before node",
        scene=JEST,
        stopped_by="protection",
        write={"node_modules/.bin/node": TRUE},
    ),
    Cheat(
        id="15",
        says="the runner among the modules does nothing",
        scene=JEST,
        stopped_by="protection",
        write={"node_modules/.bin/jest": TRUE},
    ),
    Cheat(
        id="5",
        says="new settings of the runner ignore the failing tests",
        scene=JEST,
        stopped_by="protection",
        write={"jest.config.js": 'module.exports = { testPathIgnorePatterns: ["add"] };\n'},
    ),
    Cheat(
        id="5",
        says="new settings of the runner are content without any test",
        scene=JEST,
        stopped_by="protection",
        write={"jest.config.js": 'module.exports = { passWithNoTests: true, testPathIgnorePatterns: ["."] };\n'},
    ),
]
