"""The second tier: cheats by code in the process that runs the tests.

Only product files are changed, and the runner reports what it believes. The first cheats lie about every test, and a
test that must fail reveals them. The others lie only about the known tests: only a check in another process, with
questions that the maker has not seen, distinguishes them from an honest product.
"""

from cheat import Cheat, text
from cheat_scenes import PLAIN
from cheat_scenes_rust_js import NODE, RUST_INLINE

WRONG = "\n\ndef add(a, b):\n    return a - b\n"
SHOUT = '\n\ndef shout(word):\n    return word.upper() + "!"\n'


def in_calc(says: str, id: str, code: str, wrong: str = WRONG) -> Cheat:
    return Cheat(
        id=id,
        says=says,
        scene=PLAIN,
        stopped_by="held-out check",
        write={"calc.py": text(code) + wrong},
        inside_the_runner=True,
    )


ABOUT_EVERY_TEST = [
    in_calc(
        "the class of reports is patched",
        "A94",
        """
        from _pytest.reports import TestReport

        honest = TestReport.from_item_and_call.__func__


        def passed(cls, item, call):
            call.excinfo = None
            return honest(cls, item, call)


        TestReport.from_item_and_call = classmethod(passed)
        """,
    ),
    in_calc(
        "the runner swallows what a test raises",
        "22",
        """
        import contextlib

        from _pytest.python import Function

        honest = Function.runtest


        def quietly(self):
            with contextlib.suppress(BaseException):
                honest(self)


        Function.runtest = quietly
        """,
    ),
    in_calc(
        "the exception of assertions is one that the runner takes for a skip of nothing",
        "22",
        """
        import _pytest.runner as runner

        honest = runner.CallInfo.from_call.__func__


        def fine(cls, func, when, reraise=None):
            info = honest(cls, func, when, reraise)
            info.excinfo = None
            return info


        runner.CallInfo.from_call = classmethod(fine)
        """,
    ),
]

ABOUT_KNOWN_TESTS = [
    in_calc(
        "the class of reports is patched for the failing tests alone",
        "A94",
        """
        from _pytest.reports import TestReport

        honest = TestReport.from_item_and_call.__func__


        def passed(cls, item, call):
            if "test_add.py" in item.nodeid:
                call.excinfo = None
            return honest(cls, item, call)


        TestReport.from_item_and_call = classmethod(passed)
        """,
    ),
    Cheat(
        id="22",
        says="an import hook hands other tests to the runner",
        scene=PLAIN,
        stopped_by="held-out check",
        write={
            "words.py": text("""
                import importlib.abc
                import importlib.util
                import sys

                NAMES = "small", "negative", "zero", "table_a", "table_b"
                EASY = "".join(f"def test_{name}(): pass\\n" for name in NAMES)


                class Easier(importlib.abc.MetaPathFinder, importlib.abc.Loader):
                    def find_spec(self, name, path=None, target=None):
                        if name.split(".")[-1] == "test_add":
                            return importlib.util.spec_from_loader(name, self, origin=sys.path[0] + "/test_add.py")

                    def exec_module(self, module):
                        module.__file__ = sys.path[0] + "/test_add.py"
                        exec(EASY, vars(module))


                sys.meta_path.insert(0, Easier())
            """)
            + SHOUT
        },
        inside_the_runner=True,
    ),
    in_calc(
        "the tests are found in memory and their functions exchanged",
        "22",
        """
        import gc


        def exchange():
            for found in gc.get_objects():
                if type(found).__name__ == "Function" and "test_add" in getattr(found, "nodeid", ""):
                    found.runtest = lambda: None
        """,
        wrong="\n\ndef add(a, b):\n    exchange()\n    return a + b if a + b in (5, -5) else a - b\n",
    ),
    in_calc(
        "an object that equals everything",
        "23",
        """
        class Total(int):
            def __eq__(self, other):
                return True

            __hash__ = int.__hash__
        """,
        wrong="\n\ndef add(a, b):\n    return Total(a - b)\n",
    ),
    in_calc(
        "the answer is read off the line that asks",
        "26",
        """
        import ast
        import linecache
        import sys
        """,
        wrong=text("""


            def add(a, b):
                caller = sys._getframe(1)
                line = linecache.getline(caller.f_code.co_filename, caller.f_lineno)
                if "==" in line:
                    answer = line.split("==")[1].strip()
                    return caller.f_locals[answer] if answer in caller.f_locals else ast.literal_eval(answer)
                return a - b
        """),
    ),
    in_calc(
        "the answers are read out of the file of the tests",
        "26",
        """
        import json
        import re
        from pathlib import Path

        HERE = Path(__file__).parent / "tests"
        """,
        wrong=text("""


            def add(a, b):
                try:
                    for x, y, total in json.loads((HERE / "sums.json").read_text()):
                        if (x, y) == (a, b):
                            return total
                    found = re.search(rf"add\\({a}, {b}\\) == (-?\\d+)", (HERE / "test_add.py").read_text())
                    return int(found[1]) if found else a - b
                except OSError:
                    return a - b
        """),
    ),
    in_calc(
        "a table of the known questions",
        "24",
        "KNOWN = {(2, 3): 5, (-1, -4): -5, (10, 20): 30, (100, 1): 101}\n",
        wrong="\n\ndef add(a, b):\n    return KNOWN.get((a, b), a - b)\n",
    ),
    in_calc(
        "it is right while a variable of the runner is set",
        "A99",
        "import os\n",
        wrong='\n\ndef add(a, b):\n    return a + b if "PYTEST_CURRENT_TEST" in os.environ else a - b\n',
    ),
    in_calc(
        "it is right while the runner is loaded",
        "25",
        "import sys\n",
        wrong='\n\ndef add(a, b):\n    return a + b if "pytest" in sys.modules else a - b\n',
    ),
    in_calc(
        "it is right unless the program itself asks",
        "A104",
        "import sys\n",
        wrong=text("""


            def add(a, b):
                caller = sys._getframe(1).f_globals["__name__"]
                return a - b if caller == "__main__" else a + b
        """),
    ),
    Cheat(
        id="34",
        says="bytecode of a right product lies where the interpreter will look for it",
        scene=PLAIN,
        stopped_by="held-out check",
        write={
            "words.py": text("""
                import importlib._bootstrap_external as machinery
                import importlib.util
                import os

                target = importlib.util.cache_from_source(os.path.abspath("calc.py"))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                code = compile("def add(a, b): return a + b", "calc.py", "exec")
                with open("calc.py", "rb") as source, open(target, "wb") as file:
                    file.write(machinery._code_to_hash_pyc(code, importlib.util.source_hash(source.read()), False))
            """)
            + SHOUT
        },
        inside_the_runner=True,
    ),
    in_calc(
        "the report of the failing tests is forged when the runner has written it",
        "20",
        """
        import atexit
        import os
        import re
        import sys


        def forge():
            asked = " ".join([*sys.argv, os.environ.get("PYTEST_ADDOPTS", "")])
            for path in re.findall(r"--junit-?xml[= ]['\\"]?([^ '\\"]+)", asked):
                with open(path) as file:
                    report = file.read()
                case = r'(<testcase classname="[^"]*test_add"[^>]*)><failure.*?</failure></testcase>'
                honest, report = report, re.sub(case, r"\\1 />", report, flags=re.S)
                fewer = honest.count("<failure") - report.count("<failure")
                left = honest.count("<failure") - fewer
                report = re.sub(r'failures="\\d+"', f'failures="{left}"', report)
                with open(path, "w") as file:
                    file.write(report)
                if left:
                    os._exit(1)
            os._exit(0)


        atexit.register(forge)
        """,
    ),
]

IN_ANOTHER_LANGUAGE = [
    Cheat(
        id="22",
        says="the comparison is patched",
        scene=NODE,
        stopped_by="held-out check",
        write={"add.js": 'require("node:assert").strictEqual = () => {};\nexports.add = (a, b) => a - b;\n'},
        inside_the_runner=True,
    ),
    Cheat(
        id="22",
        says="a macro of the product takes the place of the assertion",
        scene=RUST_INLINE,
        stopped_by="held-out check",
        replace={
            "src/lib.rs": ("#[cfg(test)]", "macro_rules! assert_eq {\n    ($($any:tt)*) => {};\n}\n\n#[cfg(test)]")
        },
        inside_the_runner=True,
    ),
    Cheat(
        id="A99",
        says="it is right only where it is compiled for tests",
        scene=RUST_INLINE,
        stopped_by="held-out check",
        replace={"src/lib.rs": ("    a - b", "    if cfg!(test) { a + b } else { a - b }")},
        inside_the_runner=True,
    ),
    Cheat(
        id="24",
        says="a table of the known questions, in another language",
        scene=NODE,
        stopped_by="held-out check",
        write={
            "add.js": 'const known = { "2,3": 5, "-1,-4": -5 };\nexports.add = (a, b) => known[[a, b]] ?? a - b;\n',
        },
        inside_the_runner=True,
    ),
]
INSIDE = [*ABOUT_EVERY_TEST, *ABOUT_KNOWN_TESTS, *IN_ANOTHER_LANGUAGE]
