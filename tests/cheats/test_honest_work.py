"""Honest work is accepted unchanged: green, nothing set aside as not graded, and the judged tree is the work.

Some honest work changes what decides how a check runs. It is green without that part, or a person must decide: then it
is green as a whole, and exactly that part is named.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from cheat import Scene, text
from cheat_judge import verdict_of
from cheat_scenes import BY_PATTERN, MAKE, PLAIN, SCRIPT, SETUP, STATE, UNITTEST
from cheat_scenes_rust_js import NODE, NPM, RUST, RUST_INLINE
from cheat_workspace import CheatWorkspace, put
from cheats_in_stages import ASKED, BY_EXIT_CODE, OWN_PROGRAM, SHARED, USER_SETTINGS, on_import
from cheats_on_programs import CTEST, DIFFERENCES, INCLUDED, PROVE, SHELL, STAMP, TARGET
from honest_work import Work
from honest_work_on_use import ON_USE
from unknown_tools import WORK_WITH_TOOLS

pytestmark = pytest.mark.anyio

FIX = {"calc.py": "def add(a, b):\n    return a + b\n"}
ENDS = {
    (False, False): "accepted as it is",
    (True, False): "accepted, with a part that is set aside and offered",
    (True, True): "waiting for a person, with exactly the part to decide on",
}
RUST_FIX = {"src/lib.rs": ("    a - b", "    a + b")}
C_FIX = {"add.c": ("a - b", "a + b")}
JS_FIX = {"add.js": "exports.add = (a, b) => a + b;\n"}
NEW_TEST = text("""
    from calc import add


    def test_large():
        assert add(10**20, 1) == 10**20 + 1
""")

GENERATED = Scene(
    "generated",
    "python",
    {
        "src/generate.py": "print('nothing is generated yet')\n",
        "tests/test_table.py": "def test_table():\n    from generated.table import ROWS\n\n    assert ROWS == [1, 2]\n",
        ".gitignore": "generated/\n__pycache__/\n.pytest_cache/\n",
    },
    {"tests": "python src/generate.py && python -m pytest -q"},
)
BUILT_IN_STEPS = Scene(
    "built-in-steps",
    "c",
    {
        "Makefile": text("""
            test: program
            \t./program > printed
            \tgrep -qx 5 printed
            program: main.o add.o
            \tcc -o program main.o add.o
            clean:
            \trm -f *.o program printed
        """),
        "main.c": '#include <stdio.h>\nint add(int, int);\nint main(void) { printf("%d\\n", add(2, 3)); return 0; }\n',
        "add.c": "int add(int a, int b) { return a + }\n",
        ".gitignore": "*.o\nprogram\nprinted\n",
    },
    {"tests": "make test"},
    programs=("make", "cc"),
)
"""The base does not compile, so its run makes less than an honest one."""

COMPILED = Scene(
    "compiled",
    "python",
    dict(PLAIN.files),
    {"tests": "python -m pytest -q && python -m compileall -q ."},
)
"""The base is red before its last stage, so its run leaves no bytecode."""

WORKS = [
    Work(says="a fix beside a stage that only compiles", scene=COMPILED, write=FIX),
    Work(
        says="a fix beside a program that looks for settings", scene=OWN_PROGRAM, edit={"calc.py": ("a - b", "a + b")}
    ),
    Work(
        says="a generator that makes the module which the next stage imports",
        scene=GENERATED,
        write={
            "src/generate.py": text("""
                from pathlib import Path

                Path("generated").mkdir(exist_ok=True)
                Path("generated/table.py").write_text("ROWS = [1, 2]\\n")
            """)
        },
    ),
    Work(
        says="a fix after which a build makes what it only looked for before",
        scene=BUILT_IN_STEPS,
        edit={"add.c": ("a + }", "a + b; }")},
    ),
    Work(says="a simple fix", write=FIX),
    Work(says="a fix and new tests", write={**FIX, "tests/test_large.py": NEW_TEST}),
    Work(
        says="a fix, new tests and a conftest in a new directory",
        write={
            **FIX,
            "tests/large/__init__.py": "",
            "tests/large/numbers.json": "[100]\n",
            "tests/large/conftest.py": text("""
                import pytest


                @pytest.fixture
                def huge():
                    return 10**20
            """),
            "tests/large/test_huge.py": text("""
                from calc import add


                def test_huge(huge):
                    assert add(huge, 1) == huge + 1
            """),
        },
    ),
    Work(says="a module renamed", write=FIX, shell="git mv app.py program.py"),
    Work(
        says="a module split into a package",
        shell="git rm -q calc.py",
        write={
            "calc/__init__.py": "from calc.adding import add\n\n__all__ = ['add']\n",
            "calc/adding.py": FIX["calc.py"],
        },
    ),
    Work(
        says="a new dependency and a new command in pyproject.toml",
        write=FIX,
        edit={
            "pyproject.toml": (
                "dependencies = []",
                'dependencies = ["idna>=3"]\n\n[project.scripts]\ncalc = "app:main"',
            ),
        },
    ),
    Work(says="a new version in pyproject.toml", write=FIX, edit={"pyproject.toml": ('"1.0"', '"1.1"')}),
    Work(
        says="names outside of ASCII",
        write={**FIX, "größe.py": "ÄHNLICH = 'ja'\n", "docs/日本語/übersicht é.md": "# ¡Hola!\n"},
    ),
    Work(says="a file that becomes a program", write=FIX, shell="chmod +x app.py"),
    Work(
        says="two thousand files",
        write={**FIX, **{f"data/{number % 50}/part-{number}.txt": f"{number}\n" for number in range(2000)}},
    ),
    Work(
        says="generated files, some of them ignored",
        write={
            **FIX,
            "generated/tables.py": "# Generated. Do not edit.\nTABLE = " + repr(list(range(500))) + "\n",
            "generated/parser.bin": bytes(range(256)) * 40,
            "out/build.log": "built\n",
            "__pycache__/old.cpython-311.pyc": b"\0" * 16,
        },
    ),
    Work(
        says="a link within the tree and a file taken away",
        write=FIX,
        shell="ln -s calc.py sum.py && git rm -q app.py",
    ),
    Work(
        says="documents, ignore rules and a workflow",
        write={
            **FIX,
            "README.md": "# calc\n",
            ".gitignore": str(PLAIN.files[".gitignore"]) + "*.log\n",
            ".github/workflows/docs.yml": "on: push\njobs: {}\n",
        },
    ),
    Work(says="a fix under make", scene=MAKE, write={**FIX, "tests/test_large.py": NEW_TEST}),
    Work(says="a fix under a script", scene=SCRIPT, write=FIX),
    Work(says="a fix under unittest", scene=UNITTEST, write=FIX),
    Work(
        says="a product that starts a program with its own environment, which leaves bytecode",
        scene=STATE,
        edit={"calc.py": ("    return a - b", "    speak()\n    return a + b")},
    ),
    Work(
        says="a product that keeps its state in a tracked file",
        scene=STATE,
        edit={"calc.py": ("    return a - b", "    count()\n    return a + b")},
    ),
    Work(
        says="a fix with a new module and a new test, all covered by a pattern",
        scene=BY_PATTERN,
        write={"calc.py": "from plus import add\n", "plus.py": FIX["calc.py"], "large.py": NEW_TEST},
    ),
    Work(
        says="another lock file, with a setup layer of its own",
        scene=SETUP,
        write={
            **FIX,
            "requirements.lock": "numbers==2\n",
            "tests/test_new_version.py": text("""
                import sys
                from pathlib import Path

                sys.path.append(str(Path(__file__).parents[1] / "deps"))


                def test_the_new_one_was_installed():
                    import numbers_of

                    assert numbers_of.VERSION == 2
            """),
        },
    ),
    Work(
        says="a fix in Rust with a new file of tests",
        scene=RUST,
        edit=RUST_FIX,
        write={
            "tests/more.rs": "#[test]\nfn more() {\n    assert_eq!(calc::add(4, 5), 9);\n}\n",
        },
    ),
    Work(
        says="a fix in Rust with a new test in the file of the product",
        scene=RUST_INLINE,
        edit={
            "src/lib.rs": (
                "#[cfg(test)]\nmod tests {\n    use super::*;\n",
                "pub fn three(a: i64) -> i64 {\n    a * 3\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n"
                "    #[test]\n    fn triples() {\n        assert_eq!(three(2), 6);\n    }\n",
            )
        },
        shell="sed -i 's/a - b/a + b/' src/lib.rs",
    ),
    Work(
        says="a new version in Cargo.toml and in its lock file",
        scene=RUST,
        edit={**RUST_FIX, "Cargo.toml": ("1.0.0", "1.1.0"), "Cargo.lock": ("1.0.0", "1.1.0")},
    ),
    Work(
        says="a fix in JavaScript with new tests",
        scene=NODE,
        write={
            **JS_FIX,
            "test/large.test.js": 'const assert = require("node:assert");\n'
            'require("node:test")("large", () => assert.strictEqual(require("../add.js").add(1e6, 1), 1000001));\n',
        },
    ),
    *(
        Work(says=f"a fix in C, with {scene.name}", scene=scene, edit=C_FIX)
        for scene in (TARGET, STAMP, INCLUDED, CTEST, DIFFERENCES)
    ),
    Work(says="a fix in Perl", scene=PROVE, edit={"lib/Calc.pm": ("$_[0] - $_[1]", "$_[0] + $_[1]")}),
    Work(
        says="a fix in Perl with options and a new test",
        scene=PROVE,
        edit={"lib/Calc.pm": ("$_[0] - $_[1]", "$_[0] + $_[1]")},
        set_aside=(".proverc",),
        write={".proverc": "--timer\n", "t/c.t": "use Test::More tests => 1;\nuse Calc;\nis(Calc::add(0, 0), 0);\n"},
    ),
    Work(says="a fix in shell", scene=SHELL, edit={"add": ("$1 - $2", "$1 + $2")}),
    Work(
        says="a fix in shell with a new test beside the older one",
        scene=BY_EXIT_CODE,
        edit={"add": ("$1 - $2", "$1 + $2")},
        write={"tests/case_large": '[ "$(add 1000 1)" = 1001 ]\n'},
    ),
    Work(
        says="a fix in shell with the new test that the check asks for",
        scene=ASKED,
        edit={"add": ("$1 - $2", "$1 + $2")},
        write={"tests/large/run": '[ "$(./add 1000 1)" = 1001 ]\n'},
    ),
    Work(
        says="a fix for a linter, and caches in a share and in the home",
        scene=SHARED,
        write={
            "calc.py": "def add(a, b):\n    return a + b\n",
            **on_import(
                "for name in ('installed/.cache', '~/.cache/words', '~/.local/share/words'):",
                "    place = Path(name).expanduser()",
                "    place.mkdir(parents=True, exist_ok=True)",
                "    (place / 'known.json').write_text('{}')",
            ),
        },
    ),
    Work(
        says="a fix for a linter that reads settings of the user",
        scene=USER_SETTINGS,
        write={"calc.py": "def add(a, b):\n    return a + b\n"},
    ),
    Work(
        says="a new dependency and a new version in package.json",
        scene=NPM,
        write=JS_FIX,
        edit={"package.json": ('"1.0.0",', '"1.1.0",\n  "dependencies": {"left-pad": "^1.3.0"},')},
    ),
    *ON_USE,
    *WORK_WITH_TOOLS,
]


@pytest.mark.sample(4)
@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.says.replace(" ", "-"))
async def test_honest_work_is_accepted(work: Work, workspace: CheatWorkspace, count_as: Callable[[str], None]) -> None:
    count_as(f"honest work, {ENDS[bool(work.set_aside), work.needs_person]}")
    tree = workspace.fresh(work.scene)
    do(work, tree, workspace)
    verdict = await verdict_of(tree)
    assert tuple(edit.path for edit in verdict.edits) == work.set_aside
    if work.needs_person:
        assert not verdict.green
        verdict = await verdict_of(tree, as_is=True)
        assert verdict.green
        return
    assert [(result.status.value, result.reasons) for result in verdict.results if result.reasons] == []
    assert verdict.green
    assert work.set_aside or verdict.tree == verdict.candidate
    assert verdict.discriminating is True


def do(work: Work, tree: Path, workspace: CheatWorkspace) -> None:
    for name, (before, after) in work.edit.items():
        content = (tree / name).read_text()
        assert before in content
        (tree / name).write_text(content.replace(before, after))
    if work.shell:
        assert workspace.shell(work.shell, tree, {}).returncode == 0
    put(tree, work.write)
