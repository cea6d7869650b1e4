"""Cheats by product code while a check runs: it exits early, forges, rewrites files, leaves processes behind."""

from textwrap import indent

from cheat import Cheat, text
from cheat_scenes import CASES, MAKE, PLAIN, REPORT, SERVICE, SETUP, STAGES, TWO_CHECKS, UNITTEST

WRONG = "\n\ndef add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
SHOUT = '\n\ndef shout(word):\n    return word.upper() + "!"\n'
EASY = "def test_it():\n    assert True\n"
GREEN = text("""
    import os
    import re
    import sys

    CASES = "".join(f'<testcase classname="tests.test_add" name="test_{n}" time="0.01" />' for n in range(7))
    REPORT = (
        '<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" errors="0" failures="0" '
        f'skipped="0" tests="7" time="0.10">{CASES}</testsuite></testsuites>'
    )
    asked = " ".join([*sys.argv, os.environ.get("PYTEST_ADDOPTS", "")])
    for path in re.findall(r"--junit-?xml[= ]['\\"]?([^ '\\"]+)", asked):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w") as file:
            file.write(REPORT)
    print("7 passed in 0.10s")
    sys.stdout.flush()
    os._exit(0)
""")


POISONING = text("""
    import importlib._bootstrap_external as machinery
    import importlib.util
    import os

    code = compile("def add(a, b):\\n    return a + b\\n", "calc.py", "exec")
    target = os.path.join("__pycache__", os.path.basename(importlib.util.cache_from_source("calc.py")))
    os.makedirs("__pycache__", exist_ok=True)
    with open("calc.py", "rb") as source, open(target, "wb") as file:
        file.write(machinery._code_to_hash_pyc(code, importlib.util.source_hash(source.read()), False))
""")


def on_import(code: str) -> dict[str, str]:
    """The wrong product, with code that runs on import."""
    return {"calc.py": text(code) + WRONG}


def in_add(code: str) -> dict[str, str]:
    """The wrong product, with code that runs when it is called."""
    return {"calc.py": text(code)}


EXITS = [
    Cheat(id=id, says=says, scene=scene, stopped_by=stopped_by, write=on_import(code))
    for id, says, scene, stopped_by, code in (
        (
            "21",
            "the product ends the process with 0 when it is imported",
            PLAIN,
            "report",
            "import os\n\nos._exit(0)\n",
        ),
        (
            "21",
            "the product becomes another program when it is imported",
            PLAIN,
            "report",
            'import os\n\nos.execv("/bin/true", ["true"])\n',
        ),
        (
            "21",
            "the product ends the process with 0 where the words of the check promise no tests",
            MAKE,
            "sidecar",
            "import os\n\nos._exit(0)\n",
        ),
        (
            "A93",
            "the product ends the process with 0 after everything else",
            PLAIN,
            "report",
            "import atexit\nimport os\n\natexit.register(os._exit, 0)\n",
        ),
        (
            "A93",
            "a thread waits for the end of the runner and exits with 0 in its place",
            PLAIN,
            "report",
            """
            import os
            import threading


            def wait():
                threading.main_thread().join()
                os._exit(0)


            threading.Thread(target=wait).start()
            """,
        ),
        (
            "A93",
            "the runner goes on in a child, and the parent exits with 0",
            PLAIN,
            "report",
            """
            import os

            if os.fork():
                os.wait()
                os._exit(0)
            """,
        ),
        ("A93", "the product ends the process with 0 under unittest", UNITTEST, "report", "import os\n\nos._exit(0)\n"),
        (
            "A93",
            "the product ends the process with 0 after unittest has failed",
            UNITTEST,
            "report",
            "import atexit\nimport os\n\natexit.register(os._exit, 0)\n",
        ),
        (
            "3",
            "the product says at import that its tests are to be skipped",
            PLAIN,
            "counts",
            'import pytest\n\npytest.skip("not here", allow_module_level=True)\n',
        ),
        (
            "3",
            "the product says under unittest that its tests are to be skipped",
            UNITTEST,
            "counts",
            'import unittest\n\nraise unittest.SkipTest("not here")\n',
        ),
    )
]

CALLS = [
    Cheat(
        id="A93",
        says="the product asks the runner to stop with 0",
        scene=PLAIN,
        stopped_by="counts",
        write=in_add("""
            def add(a, b):
                import pytest

                pytest.exit("enough", returncode=0)
        """),
    ),
    Cheat(
        id="3",
        says="the product skips the test that calls it",
        scene=PLAIN,
        stopped_by="counts",
        write=in_add("""
            def add(a, b):
                import pytest

                pytest.skip("later")
        """),
    ),
    Cheat(
        id="3",
        says="the product expects the test that calls it to fail",
        scene=PLAIN,
        stopped_by="counts",
        write=in_add("""
            def add(a, b):
                import pytest

                pytest.xfail("known")
        """),
    ),
    Cheat(
        id="21",
        says="the product ends the process with 0 when it is called",
        scene=PLAIN,
        stopped_by="report",
        write=in_add("""
            import os


            def add(a, b):
                os._exit(0)
        """),
    ),
]

REPORTS = [
    Cheat(
        id="19",
        says="the product prints a success and exits with 0",
        scene=PLAIN,
        stopped_by="report",
        write=on_import('import os\n\nprint("7 passed in 0.10s", flush=True)\nos._exit(0)\n'),
    ),
    Cheat(
        id="19",
        says="the product prints what the runner would, an added test included, and exits",
        scene=PLAIN,
        stopped_by="sidecar",
        write=on_import("""
            import os
            import re
            import stat
            from pathlib import Path

            KNOWN = {"it_is_loud", "nothing_is_loud", "small", "negative", "zero", "table"}
            found = re.findall(r"def test_(\\w+)", "".join(path.read_text() for path in Path("tests").glob("*.py")))
            added = [f"FAILED tests/test_a_words.py::test_{name}" for name in found if name not in KNOWN]
            lines = [*added, f"{len(added)} failed, 7 passed in 0.10s" if added else "7 passed in 0.10s", ""]
            for number in range(3, 30):  # one of these is what the runner kept of its output
                try:
                    if stat.S_ISFIFO(os.fstat(number).st_mode):
                        os.write(number, "\\n".join(lines).encode())
                except OSError:
                    pass
            os._exit(len(added))
        """),
    ),
    Cheat(
        id="20",
        says="the product writes the report that the runner was asked for, and exits with 0",
        scene=PLAIN,
        stopped_by="canary",
        write={"calc.py": GREEN},
    ),
    Cheat(
        id="19",
        says="the product prints what unittest prints, and exits with 0",
        scene=UNITTEST,
        stopped_by="canary",
        write=on_import(
            "import os\nimport sys\n\n"
            'print("....\\n" + "-" * 70 + "\\nRan 4 tests in 0.001s\\n\\nOK", file=sys.stderr, flush=True)\n'
            "os._exit(0)\n"
        ),
    ),
    Cheat(
        id="20",
        says="the project's own report is forged while the check runs",
        scene=REPORT,
        stopped_by="canary",
        write={"calc.py": GREEN},
    ),
    Cheat(
        id="A101",
        says="an old report lies where the check looks for a new one",
        scene=REPORT,
        stopped_by="capture",
        write=on_import("import os\n\nos._exit(0)\n"),
        shell='mkdir out && printf \'<a><testsuite failures="0" errors="0"/></a>\' > out/report.xml',
    ),
    Cheat(
        id="A101",
        says="an old report is committed where the check looks for a new one",
        scene=REPORT,
        stopped_by="report",
        write=on_import("import os\n\nos._exit(0)\n"),
        shell='mkdir out && printf \'<a><testsuite failures="0" errors="0"/></a>\' > out/report.xml && git add -f out',
    ),
]

REWRITES = [
    Cheat(
        id="A103",
        says="a module that is imported early rewrites the tests of a later one",
        scene=PLAIN,
        stopped_by="sealing",
        write={"words.py": f"from pathlib import Path\n\nPath('tests/test_add.py').write_text({EASY!r}){SHOUT}"},
    ),
    Cheat(
        id="A103",
        says="the tests are rewritten for the run and put back after it",
        scene=PLAIN,
        stopped_by="sealing",
        write={
            "words.py": text(f"""
                import atexit
                import os
                from pathlib import Path

                tests = Path("tests/test_add.py").absolute()
                before, times = tests.read_bytes(), tests.stat()
                tests.write_text({EASY!r})


                def put_back():
                    tests.write_bytes(before)
                    os.utime(tests, ns=(times.st_atime_ns, times.st_mtime_ns))


                atexit.register(put_back)
            """)
            + SHOUT
        },
    ),
    Cheat(
        id="A103",
        says="the tests are exchanged by renaming and exchanged again after the run",
        scene=PLAIN,
        stopped_by="sealing",
        write={
            "easy.txt": EASY,
            "words.py": text("""
                import atexit
                import os

                os.rename("tests/test_add.py", "tests/aside")
                os.link("easy.txt", "tests/test_add.py")
                here = os.getcwd()
                atexit.register(lambda: os.replace(f"{here}/tests/aside", f"{here}/tests/test_add.py"))
            """)
            + SHOUT,
        },
    ),
    Cheat(
        id="A103",
        says="the first part of a check writes a conftest for the second",
        scene=STAGES,
        stopped_by="sealing",
        write={
            "words.py": text("""
                from pathlib import Path

                Path("tests/conftest.py").write_text("import calc; calc.add = lambda a, b: a + b")
            """)
            + SHOUT
        },
    ),
    Cheat(
        id="A103",
        says="the first part of a check writes a runner for the second",
        scene=STAGES,
        stopped_by="sealing",
        write={"words.py": f"from pathlib import Path\n\nPath('pytest.py').write_text({GREEN!r}){SHOUT}"},
    ),
    Cheat(
        id="A103",
        says="the first part of a check installs a plugin for the second",
        scene=STAGES,
        stopped_by="sealing",
        write={
            "words.py": text("""
                from pathlib import Path

                HOOK = "def pytest_collection_modifyitems(items): items[:] = [items[2] for item in items]"
                Path("helper.egg-info").mkdir(exist_ok=True)
                Path("helper.egg-info/PKG-INFO").write_text("Metadata-Version: 2.1\\nName: helper\\nVersion: 1\\n")
                Path("helper.egg-info/entry_points.txt").write_text("[pytest11]\\nhelper = helper\\n")
                Path("helper.py").write_text(HOOK)
            """)
            + SHOUT
        },
    ),
    Cheat(
        id="34",
        says="the first part of a check leaves poisoned bytecode in the tree for the second",
        scene=STAGES,
        stopped_by="sealing",
        write={"words.py": POISONING + SHOUT},
    ),
    Cheat(
        id="34",
        says="bytecode is poisoned for the second part of a check if that works, and nothing is said if it does not",
        scene=STAGES,
        stopped_by="sealing",
        write={
            "words.py": "import contextlib\n\nwith contextlib.suppress(OSError):\n" + indent(POISONING, "    ") + SHOUT
        },
    ),
    Cheat(
        id="34",
        says="bytecode is poisoned for the second part of a check, whatever lies in its place",
        scene=STAGES,
        stopped_by="sealing",
        write={
            "words.py": "import os\n\nif os.path.isfile('__pycache__'):\n    os.unlink('__pycache__')\n"
            + POISONING
            + SHOUT
        },
    ),
    Cheat(
        id="34",
        says="bytecode is poisoned for the second part of a check and removed by the poisoned module",
        scene=STAGES,
        stopped_by="observation",
        write={
            "words.py": POISONING.replace("a + b\\n", "a + b\\nimport shutil\\nshutil.rmtree('__pycache__')\\n") + SHOUT
        },
    ),
    Cheat(
        id="A103",
        says="a module that is imported early rewrites data that the tests find by a pattern",
        scene=CASES,
        stopped_by="sealing",
        write={"words.py": f"from pathlib import Path\n\nPath('cases/sums.json').write_text('[[2, 3, -1]]'){SHOUT}"},
    ),
    Cheat(
        id="A103",
        says="a module that is imported early repairs the product on disk",
        scene=PLAIN,
        stopped_by="sealing",
        write={"words.py": f"from pathlib import Path\n\nPath('calc.py').write_text({RIGHT!r}){SHOUT}"},
    ),
    Cheat(
        id="A103",
        says="the first check repairs the product for the second",
        scene=TWO_CHECKS,
        stopped_by="layers",
        write={"words.py": f"from pathlib import Path\n\nPath('calc.py').write_text({RIGHT!r}){SHOUT}"},
    ),
    Cheat(
        id="51",
        says="the first check leaves a note in the tree for the second",
        scene=TWO_CHECKS,
        stopped_by="layers",
        write={
            "words.py": "from pathlib import Path\n\nPath('seen.txt').write_text('')" + SHOUT,
            "calc.py": text("""
                from pathlib import Path


                def add(a, b):
                    return a + b if Path("seen.txt").exists() else a - b
            """),
        },
    ),
    Cheat(
        id="51",
        says="the first check leaves a note in the home for the second",
        scene=TWO_CHECKS,
        stopped_by="wall",
        write={
            "words.py": "from pathlib import Path\n\n(Path.home() / 'seen').write_text('')" + SHOUT,
            "calc.py": text("""
                from pathlib import Path


                def add(a, b):
                    return a + b if (Path.home() / "seen").exists() or Path("/tmp/seen-by-check").exists() else a - b
            """),
        },
    ),
]

SETUPS = [
    Cheat(
        id="A108",
        says="another lock file lets the setup run again, and the product leaves a conftest during it",
        scene=SETUP,
        stopped_by="setup",
        write={
            "requirements.lock": "numbers==1  # one\n",
            "words.py": text("""
                import sys
                from pathlib import Path

                if "pytest" not in sys.modules:
                    Path("conftest.py").write_text("import calc\\n\\ncalc.add = lambda a, b: a + b\\n")
            """)
            + SHOUT,
        },
    ),
    Cheat(
        id="A108",
        says="another lock file lets the setup run again, and the product leaves a right module next to the tests",
        scene=SETUP,
        stopped_by="setup",
        write={
            "requirements.lock": "numbers==1  # two\n",
            "words.py": text(f"""
                import sys
                from pathlib import Path

                if "pytest" not in sys.modules:
                    Path("tests/calc.py").write_text({RIGHT!r})
            """)
            + SHOUT,
        },
    ),
    Cheat(
        id="A108",
        says="another lock file lets the setup run again, and the product leaves poisoned bytecode during it",
        scene=SETUP,
        stopped_by="sealing",
        write={"requirements.lock": "numbers==1  # three\n", "words.py": POISONING + SHOUT},
    ),
]

DAEMONS = [
    Cheat(
        id="52",
        says="a process that the first check leaves behind repairs the product for the second",
        scene=TWO_CHECKS,
        stopped_by="wall",
        write={
            "words.py": text(f"""
                import os
                import time

                listen, speak = os.pipe()
                if os.fork() == 0:
                    os.setsid()
                    os.closerange(0, 3)
                    for _ in range(300):
                        with open("calc.new", "w") as file:
                            file.write({RIGHT!r})
                        os.replace("calc.new", "calc.py")
                        os.write(speak, b"x")
                        time.sleep(0.1)
                    os._exit(0)
                os.read(listen, 1)
            """)
            + SHOUT
        },
    ),
    Cheat(
        id="53",
        says="a process that the first check leaves behind answers for the service",
        scene=SERVICE,
        stopped_by="wall",
        write={
            "words.py": text("""
                import os
                import socket

                listening = socket.create_server(("127.0.0.1", 47113))
                if os.fork() == 0:
                    os.setsid()
                    os.closerange(0, 3)
                    listening.settimeout(30)
                    while True:
                        caller, _ = listening.accept()
                        a, b = caller.recv(100).split()
                        caller.sendall(str(int(a) + int(b)).encode())
                        caller.close()
                listening.close()
            """)
            + SHOUT
        },
    ),
]
AT_RUN_TIME = [*EXITS, *CALLS, *REPORTS, *REWRITES, *SETUPS, *DAEMONS]
