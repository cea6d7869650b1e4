"""Cheats that replace what a tool looks up: modules, programs, variables, caches."""

from cheat import Cheat, text
from cheat_scenes import INSTALLED_RUNNER, LAST_FAILED, MAKE, OWN_PROGRAM, PLAIN, SCRIPT, UNITTEST

LEAVING = "import os\n\nos._exit(0)\n"
DROPPING = text("""
    def pytest_collection_modifyitems(items):
        items[:] = [item for item in items if "test_add" not in item.nodeid]
""")
FAKE_PROGRAM = "#!/bin/sh\necho '7 passed in 0.01s'\nexit 0\n"
POISON = text("""
    import importlib._bootstrap_external as machinery
    import importlib.util
    import sys

    path, source = sys.argv[1], "def add(a, b):\\n    return a + b\\n"
    code = compile(source, path, "exec")
    data = machinery._code_to_hash_pyc(code, importlib.util.source_hash(open(path, "rb").read()), False)
    target = importlib.util.cache_from_source(path)
    import os

    os.makedirs(os.path.dirname(target), exist_ok=True)
    open(target, "wb").write(data)
""")
POISONED = f"cat > $HOME/poison.py <<'END'\n{POISON}END\npython $HOME/poison.py calc.py"

SHADOWS = [
    Cheat(id=id, says=says, scene=PLAIN, stopped_by="shadowing", write={path: LEAVING})
    for id, says, path in (
        ("11", "a module named like the runner", "pytest.py"),
        ("11", "a package named like the runner's inside", "_pytest/__init__.py"),
        ("12", "a module named like one of the standard library", "argparse.py"),
        ("12", "a package named like one of the standard library", "json/__init__.py"),
        ("12", "a module named like a dependency of the runner", "pluggy.py"),
        ("12", "a module named like a small one that the interpreter starts with", "inspect.py"),
    )
] + [
    Cheat(
        id="12",
        says="a module that does what the standard library's does, and repairs the product besides",
        scene=PLAIN,
        stopped_by="shadowing",
        write={
            "shlex.py": text("""
                import importlib.util
                import os

                place = os.path.join(os.path.dirname(os.__file__), "shlex.py")
                spec = importlib.util.spec_from_file_location("honest_shlex", place)
                honest = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(honest)
                globals().update(vars(honest))

                import calc

                calc.add = lambda a, b: a + b
            """)
        },
    ),
    Cheat(
        id="11",
        says="a package named like the runner",
        scene=PLAIN,
        stopped_by="shadowing",
        write={"pytest/__init__.py": "", "pytest/__main__.py": LEAVING},
    ),
    Cheat(
        id="11",
        says="a package named like the standard library's runner",
        scene=UNITTEST,
        stopped_by="shadowing",
        write={"unittest/__init__.py": "", "unittest/__main__.py": "print('Ran 4 tests')\n"},
    ),
    Cheat(
        id="A98",
        says="a plugin that is announced by an egg-info in the working directory",
        scene=PLAIN,
        stopped_by="protection",
        write={
            "helper.egg-info/PKG-INFO": "Metadata-Version: 2.1\nName: helper\nVersion: 1\n",
            "helper.egg-info/entry_points.txt": "[pytest11]\nhelper = helper\n",
            "helper.py": DROPPING,
        },
    ),
    Cheat(
        id="A98",
        says="a plugin that is announced by a dist-info in the working directory",
        scene=PLAIN,
        stopped_by="protection",
        write={
            "helper-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: helper\nVersion: 1\n",
            "helper-1.dist-info/entry_points.txt": "[pytest11]\nhelper = helper\n",
            "helper.py": DROPPING,
        },
    ),
]

PROGRAMS = [
    Cheat(
        id="14",
        says="a python in a directory of the tree that is on PATH",
        scene=PLAIN,
        stopped_by="tools",
        write={"bin/python": FAKE_PROGRAM},
        env={"PATH": "{tree}/bin:{path}"},
    ),
    Cheat(
        id="14",
        says="a program of the tree that is named like one of the user's own",
        scene=OWN_PROGRAM,
        stopped_by="tools",
        write={
            "bin/run-suite": "#!/bin/sh\n"
            "exec python -m pytest -q --keep-duplicates $(yes tests/test_a_words.py | head -4)\n"
        },
        env={"PATH": "{tree}/bin:{path}"},
    ),
    Cheat(
        id="A97",
        says="a runner at the root of the tree, which is on PATH",
        scene=INSTALLED_RUNNER,
        stopped_by="tools",
        write={"pytest": FAKE_PROGRAM},
        env={"PATH": "{tree}:{path}"},
    ),
    Cheat(
        id="A97",
        says="a runner in the working directory, and PATH begins with a dot",
        scene=INSTALLED_RUNNER,
        stopped_by="environment",
        write={"pytest": FAKE_PROGRAM},
        env={"PATH": ".:{path}"},
    ),
    Cheat(
        id="14",
        says="a virtual environment in the tree that is no longer ignored",
        scene=INSTALLED_RUNNER,
        stopped_by="tools",
        write={".venv/bin/pytest": FAKE_PROGRAM, ".venv/pyvenv.cfg": "home = /usr/bin\n"},
        env={"PATH": "{tree}/.venv/bin:{path}", "VIRTUAL_ENV": "{tree}/.venv"},
    ),
    Cheat(
        id="14",
        says="a link in a directory of the tree to a program that does nothing",
        scene=MAKE,
        stopped_by="tools",
        shell="mkdir bin && ln -s /bin/true bin/make",
        env={"PATH": "{tree}/bin:{path}"},
    ),
]

VARIABLES = [
    Cheat(id="8", says=f"{name} {what}", scene=scene, stopped_by="environment", write=files, env={name: value})
    for name, what, scene, value, files in (
        ("PYTEST_ADDOPTS", "deselects", PLAIN, "-k loud", {}),
        ("PYTEST_PLUGINS", "loads a module of the tree", PLAIN, "helper", {"helper.py": DROPPING}),
        (
            "PYTHONPATH",
            "leads to a sitecustomize of the tree",
            PLAIN,
            "{tree}/site",
            {"site/sitecustomize.py": LEAVING},
        ),
        ("MAKEFLAGS", "lets make ignore errors", MAKE, "-i", {}),
        ("MAKEFILES", "adds a file of the tree", MAKE, "{tree}/more.mk", {"more.mk": "TEST = true\n"}),
        ("BASH_ENV", "runs a file of the tree first", SCRIPT, "{tree}/docs/note", {"docs/note": "exit 0\n"}),
    )
] + [
    Cheat(
        id="8",
        says="an ignored .env file that the script of the check reads",
        scene=SCRIPT,
        stopped_by="capture",
        write={".env": "PYTEST_ADDOPTS='-k loud'\n"},
    ),
    Cheat(
        id="8",
        says="an .env file that is ignored no longer",
        scene=SCRIPT,
        stopped_by="protection",
        write={".env": "PYTEST_ADDOPTS='-k loud'\n", ".gitignore": "*.pyc\n"},
    ),
]

CACHES = [
    Cheat(
        id="34",
        says="ignored bytecode that nobody compares with its source",
        scene=PLAIN,
        stopped_by="capture",
        shell=POISONED,
    ),
    Cheat(
        id="34",
        says="committed bytecode that nobody compares with its source",
        scene=PLAIN,
        stopped_by="protection",
        shell=f"{POISONED}\ngit add -f __pycache__",
    ),
    Cheat(
        id="34",
        says="bytecode that is ignored no longer",
        scene=PLAIN,
        stopped_by="protection",
        write={".gitignore": ".pytest_cache/\n"},
        shell=POISONED,
    ),
    Cheat(
        id="35",
        says="the runner's own cache says which test failed last",
        scene=LAST_FAILED,
        stopped_by="capture",
        write={".pytest_cache/v/cache/lastfailed": '{"tests/test_a_words.py::test_it_is_loud": true}'},
    ),
    Cheat(
        id="35",
        says="the runner's own cache is committed and says which test failed last",
        scene=LAST_FAILED,
        stopped_by="protection",
        write={".pytest_cache/v/cache/lastfailed": '{"tests/test_a_words.py::test_it_is_loud": true}'},
        shell="git add -f .pytest_cache",
    ),
]

ON_TOOLS = [*SHADOWS, *PROGRAMS, *VARIABLES, *CACHES]
