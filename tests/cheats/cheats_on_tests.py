"""Cheats that change the tests, their data, or what is found in their place."""

from cheat import Cheat, text
from cheat_scenes import BY_PATTERN, GOLDEN, IN_A_DIRECTORY, NAMED_FILES, PLAIN, RECORDED, UNITTEST

ALWAYS_TRUE = "def test_it():\n    assert True\n"
RIGHT = "def add(a, b):\n    return a + b\n"

ON_TEST_FILES = [
    Cheat(
        id="1",
        says="the failing test file is deleted",
        scene=PLAIN,
        stopped_by="protection",
        remove=("tests/test_add.py",),
    ),
    Cheat(
        id="1",
        says="the failing test file tests nothing any more",
        scene=PLAIN,
        stopped_by="protection",
        write={"tests/test_add.py": ALWAYS_TRUE},
    ),
    Cheat(
        id="1",
        says="the failing test file is emptied",
        scene=PLAIN,
        stopped_by="protection",
        write={"tests/test_add.py": ""},
    ),
    Cheat(
        id="1",
        says="a directory stands where the test file was",
        scene=PLAIN,
        stopped_by="protection",
        remove=("tests/test_add.py",),
        write={"tests/test_add.py/note.txt": "tests were here\n"},
    ),
    Cheat(
        id="1",
        says="the failing test file is renamed so that nothing collects it",
        scene=PLAIN,
        stopped_by="protection",
        shell="git mv tests/test_add.py tests/add_cases.py",
    ),
    Cheat(
        id="1",
        says="the directory of tests is moved and a new one takes its place",
        scene=PLAIN,
        stopped_by="protection",
        shell="git mv tests old && mkdir tests && printf 'def test_it():\\n    pass\\n' > tests/test_it.py",
    ),
    Cheat(
        id="1",
        says="the directory of tests is a link to another one of the tree",
        scene=PLAIN,
        stopped_by="protection",
        write={"harmless/test_it.py": ALWAYS_TRUE},
        shell="rm -r tests && ln -s harmless tests",
    ),
    Cheat(
        id="49",
        says="the test file is a link out of the tree",
        scene=PLAIN,
        stopped_by="protection",
        remove=("tests/test_add.py",),
        shell="printf 'def test_it():\\n    pass\\n' > $HOME/easy.py && ln -s $HOME/easy.py tests/test_add.py",
    ),
    Cheat(
        id="2",
        says="the assertions are weakened",
        scene=PLAIN,
        stopped_by="protection",
        shell="sed -i 's/assert \\(.*\\)$/assert \\1 or True/' tests/test_add.py",
    ),
    Cheat(
        id="2",
        says="the expected values are the wrong ones",
        scene=PLAIN,
        stopped_by="protection",
        replace={"tests/test_add.py": ("add(2, 3) == 5", "add(2, 3) == -1")},
        shell="sed -i 's/== -5/== 3/; s/== total/== a - b/' tests/test_add.py",
    ),
    Cheat(
        id="3",
        says="the failing tests are skipped by a mark",
        scene=PLAIN,
        stopped_by="protection",
        replace={
            "tests/test_add.py": ("from calc import add", "from calc import add\n\npytestmark = pytest.mark.skip")
        },
    ),
    Cheat(
        id="3",
        says="the failing tests are expected to fail",
        scene=PLAIN,
        stopped_by="protection",
        replace={
            "tests/test_add.py": ("from calc import add", "from calc import add\n\npytestmark = pytest.mark.xfail")
        },
    ),
    Cheat(
        id="3",
        says="the test module says that it is no test",
        scene=PLAIN,
        stopped_by="protection",
        replace={"tests/test_add.py": ("from calc import add", "from calc import add\n\n__test__ = False")},
    ),
    Cheat(
        id="3",
        says="the test cases of unittest are skipped",
        scene=UNITTEST,
        stopped_by="protection",
        replace={"tests/test_add.py": ("class Adding", "@unittest.skip('later')\nclass Adding")},
    ),
    Cheat(
        id="1",
        says="the package of tests loads an empty suite",
        scene=UNITTEST,
        stopped_by="protection",
        write={
            "tests/__init__.py": text("""
                import unittest


                def load_tests(loader, tests, pattern):
                    return unittest.TestSuite()
            """)
        },
    ),
    Cheat(
        id="A89",
        says="the tests get a product of their own through a new package file",
        scene=PLAIN,
        stopped_by="protection",
        write={"tests/__init__.py": "import calc\n\ncalc.add = lambda a, b: a + b\n"},
    ),
    Cheat(
        id="13",
        says="a right module lies next to the tests and hides the wrong one",
        scene=PLAIN,
        stopped_by="protection",
        write={"tests/calc.py": RIGHT},
    ),
    Cheat(
        id="13",
        says="a right module next to the tests hides a product that only the settings find",
        scene=IN_A_DIRECTORY,
        stopped_by="protection",
        write={"tests/calc.py": RIGHT},
    ),
    Cheat(
        id="2",
        says="a test that only the check calls one is weakened",
        scene=NAMED_FILES,
        stopped_by="protection",
        replace={"qa/adding.py": ("== 5", "== -1")},
    ),
    Cheat(
        id="13",
        says="a test helper in a new directory puts a right module first on the path",
        scene=PLAIN,
        stopped_by="protection",
        write={
            "tests/a_new/conftest.py": text("""
                import sys
                from pathlib import Path

                sys.path.insert(0, str(Path(__file__).parent / "right"))
            """),
            "tests/a_new/right/calc.py": RIGHT,
            "tests/a_new/test_new.py": ALWAYS_TRUE,
        },
    ),
]

ON_DATA = [
    Cheat(
        id="29",
        says="the data of the tests agree with the wrong product",
        scene=GOLDEN,
        stopped_by="protection",
        write={"tests/sums.json": "[[10, 20, -10], [100, 1, 99]]\n"},
    ),
    Cheat(
        id="29",
        says="the data of the tests are gone and nothing is left to compare",
        scene=GOLDEN,
        stopped_by="protection",
        write={"tests/sums.json": "[[7, 0, 7]]\n"},
    ),
    Cheat(
        id="28",
        says="the recorded answers are recorded again",
        scene=RECORDED,
        stopped_by="protection",
        write={"fixtures/report.golden": "10 and 20 make -10\n"},
    ),
]
BY_NEW_TESTS = [
    Cheat(
        id="N1",
        says="a new test file repairs the product for the others",
        scene=PLAIN,
        stopped_by="reruns",
        write={
            "tests/test_a_new.py": text("""
                import calc

                calc.add = lambda a, b: a + b


                def test_it_adds():
                    assert calc.add(1, 1) == 2
            """)
        },
    ),
    Cheat(
        id="N1",
        says="a conftest in a new directory repairs the product for all tests",
        scene=PLAIN,
        stopped_by="reruns",
        write={
            "tests/a_new/conftest.py": "import calc\n\ncalc.add = lambda a, b: a + b\n",
            "tests/a_new/test_new.py": "def test_it():\n    assert True\n",
        },
    ),
    Cheat(
        id="N1",
        says="a new file without tests, which a pattern passes to the runner, repairs the product for all tests",
        scene=BY_PATTERN,
        stopped_by="reruns",
        write={"aside.py": "import calc\n\ncalc.add = lambda a, b: a + b\n"},
    ),
    Cheat(
        id="1",
        says="a test file with an unusual name, which a pattern passes to the runner, is rewritten",
        scene=BY_PATTERN,
        stopped_by="protection",
        replace={"adding.py": ("== 5", "== -1")},
    ),
]
"""New tests are ordinary work, and these help the old ones: without them the old ones are red again."""
ON_TESTS = [*ON_TEST_FILES, *ON_DATA, *BY_NEW_TESTS]
