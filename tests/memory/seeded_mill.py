"""A third project for seeded bugs, for tuning: it has what the shop lacks. Data only.

Packages, async work, errors in set-up, chained errors, values that are texts, lists and records, programs run by
tests, errors in several files.
"""

from seeded_harbour import harbour_scripts
from seeded_projects import Bug, Project

PYTHON = {
    "mill/__init__.py": "",
    "mill/grain/__init__.py": "",
    "mill/grain/batch.py": """\
@PAD@
from dataclasses import dataclass, replace
from enum import Enum


class Kind(Enum):
    RYE = "rye"
    WHEAT = "wheat"


@dataclass(frozen=True)
class Batch:
    kind: Kind
    weight: int
    notes: tuple[str, ...] = ()

    def noted(self, note: str) -> "Batch":
        return replace(self, notes=(*self.notes, note))

    @staticmethod
    def parse(text: str) -> "Batch":
        name, _, weight = text.partition(":")
        return Batch(Kind(name.strip().lower()), int(weight))
""",
    "mill/works/__init__.py": "",
    "mill/works/store.py": """\
@PAD@
import sqlite3

from mill.grain.batch import Batch, Kind


class StoreError(RuntimeError):
    pass


class Store:
    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path)
        self._connection.execute("CREATE TABLE batches (kind TEXT, weight INTEGER)")

    def add(self, batch: Batch) -> None:
        try:
            self._connection.execute("INSERT INTO batches VALUES (?, ?)", (batch.kind.value, batch.weight))
        except sqlite3.Error as error:
            raise StoreError(f"cannot keep {batch.kind.name}") from error

    def by_kind(self) -> dict[str, int]:
        rows = self._connection.execute("SELECT kind, SUM(weight) FROM batches GROUP BY kind ORDER BY kind")
        return {Kind(kind).name.lower(): weight for kind, weight in rows}

    def close(self) -> None:
        self._connection.close()
""",
    "mill/works/queue.py": """\
@PAD@
import asyncio
from collections.abc import Awaitable, Callable

from mill.grain.batch import Batch

Worker = Callable[[Batch], Awaitable[str]]


async def ground(batch: Batch) -> str:
    await asyncio.sleep(0)
    return f"flour of {batch.kind.value}"


@PAD@
async def work(batches: list[Batch], worker: Worker = ground, *, hands: int = 2) -> list[str]:
    gate = asyncio.Semaphore(hands)

    async def one(batch: Batch) -> str:
        async with gate:
            return await worker(batch)

    return list(await asyncio.gather(*(one(batch) for batch in batches)))
""",
    "mill/__main__.py": """\
import asyncio
import sys

from mill.grain.batch import Batch
from mill.works.queue import work

if __name__ == "__main__":
    for line in asyncio.run(work([Batch.parse(text) for text in sys.argv[1:]])):
        print(line)
""",
}
RUN_BUGS = (
    Bug("kinds are loud", "mill/grain/batch.py", 'RYE = "rye"', 'RYE = "RYE"'),
    Bug("words are not lowered", "mill/grain/batch.py", ".strip().lower()", ".strip()"),
    Bug("words are not stripped", "mill/grain/batch.py", ".strip().lower()", ".lower()"),
    Bug("notes are turned round", "mill/grain/batch.py", "(*self.notes, note)", "(note, *self.notes)"),
    Bug("notes are lost", "mill/grain/batch.py", "(*self.notes, note)", "(note,)"),
    Bug("replace has another field", "mill/grain/batch.py", "replace(self, notes=", "replace(self, remarks="),
    Bug("the table has another name", "mill/works/store.py", "CREATE TABLE batches", "CREATE TABLE batch"),
    Bug("the table has another column", "mill/works/store.py", "SELECT kind, SUM(weight)", "SELECT kind, SUM(mass)"),
    Bug("one value too few", "mill/works/store.py", "VALUES (?, ?)", "VALUES (?)"),
    Bug("weights are counted", "mill/works/store.py", "SUM(weight)", "COUNT(weight)"),
    Bug("names are not lowered", "mill/works/store.py", "Kind(kind).name.lower()", "Kind(kind).name"),
    Bug("the worker is not awaited", "mill/works/queue.py", "return await worker(batch)", "return worker(batch)"),
    Bug(
        "nobody gathers",
        "mill/works/queue.py",
        "list(await asyncio.gather(*(one(batch) for batch in batches)))",
        "[one(batch) for batch in batches]",
    ),
    Bug("no hands", "mill/works/queue.py", "asyncio.Semaphore(hands)", "asyncio.Semaphore(-hands)"),
    Bug("the queue is in another module", "mill/__main__.py", "mill.works.queue import", "mill.works.queues import"),
    Bug("store does not close", "mill/works/store.py", "def close(self)", "def shut(self)"),
)
PYTEST = Project(
    "pytest",
    ("python", "-m", "pytest", "-p", "no:cacheprovider"),
    {
        **PYTHON,
        "tests/conftest.py": """\
@PAD@
import pytest

from mill.works.store import Store


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def store(tmp_path):
    made = Store(str(tmp_path / "mill-@A@.db"))
    yield made
    made.close()
""",
        "tests/grain/test_batch.py": """\
@PAD@
import pytest

from mill.grain.batch import Batch, Kind


@pytest.mark.parametrize("text", ["rye:@A@", " Rye :@A@", "RYE: @A@"])
def test_parsing(text):
    assert Batch.parse(text) == Batch(Kind.RYE, @A@)


def test_notes_in_order():
    assert Batch(Kind.RYE, @B@).noted("damp").noted("dark").notes == ("damp", "dark")


def test_kinds():
    assert [kind.value for kind in Kind] == ["rye", "wheat"]
""",
        "tests/works/test_store.py": """\
@PAD@
from mill.grain.batch import Batch, Kind


class TestStore:
    def test_sums(self, store):
        store.add(Batch(Kind.RYE, @A@))
        store.add(Batch(Kind.RYE, @B@))
        store.add(Batch(Kind.WHEAT, 7))
        assert store.by_kind() == {"rye": @A@ + @B@, "wheat": 7}

    def test_empty(self, store):
        assert store.by_kind() == {}
""",
        "tests/works/test_queue.py": """\
@PAD@
import subprocess
import sys

import pytest

from mill.grain.batch import Batch, Kind
from mill.works.queue import work


@pytest.mark.anyio
async def test_work_in_order():
    assert await work([Batch(Kind.RYE, @A@), Batch(Kind.WHEAT, @B@)]) == ["flour of rye", "flour of wheat"]


@pytest.mark.anyio
async def test_work_of_another_worker():
    async def weighed(batch):
        return f"{batch.weight} kg"

    assert await work([Batch(Kind.RYE, @A@)], weighed, hands=1) == ["@A@ kg"]


def test_program():
    ran = subprocess.run([sys.executable, "-m", "mill", "rye:@A@"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "flour of rye\\n"), ran.stderr
""",
    },
    RUN_BUGS,
    name="mill",
    comment="#",
    parallel=("-n", "2"),
    colours=("--color=yes",),
    flaky=("tests/grain/test_batch.py", "\n\ndef test_wind():\n    assert {'wind': @A@} == {'wind': 0}\n"),
)
UNITTEST = Project(
    "unittest",
    ("python", "-m", "unittest", "discover", "-v"),
    {
        **PYTHON,
        "test_mill.py": """\
@PAD@
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from mill.grain.batch import Batch, Kind
from mill.works.queue import work
from mill.works.store import Store


class BatchTest(unittest.TestCase):
    def test_parsing(self):
        for text in ("rye:@A@", " Rye :@A@", "RYE: @A@"):
            with self.subTest(text):
                self.assertEqual(Batch.parse(text), Batch(Kind.RYE, @A@))

    def test_notes(self):
        \"\"\"Notes stand in the order they were made.\"\"\"
        self.assertTupleEqual(Batch(Kind.RYE, @B@).noted("damp").noted("dark").notes, ("damp", "dark"))

    def test_kinds(self):
        self.assertEqual([kind.value for kind in Kind], ["rye", "wheat"])


class StoreTest(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.store = Store(str(Path(self.place.name) / "mill.db"))

    def tearDown(self):
        self.store.close()

    def test_sums(self):
        self.store.add(Batch(Kind.RYE, @A@))
        self.store.add(Batch(Kind.RYE, @B@))
        self.assertDictEqual(self.store.by_kind(), {"rye": @A@ + @B@})

    def test_empty(self):
        self.assertFalse(self.store.by_kind())


class QueueTest(unittest.IsolatedAsyncioTestCase):
    async def test_order(self):
        made = await work([Batch(Kind.RYE, @A@), Batch(Kind.WHEAT, @B@)])
        self.assertListEqual(made, ["flour of rye", "flour of wheat"])

    async def test_program(self):
        ran = subprocess.run([sys.executable, "-m", "mill", "rye:@A@"], capture_output=True, text=True)
        self.assertEqual(ran.stdout, "flour of rye\\n", ran.stderr)
""",
    },
    RUN_BUGS,
    name="mill",
    comment="#",
    flaky=("test_mill.py", "\n    async def test_wind(self):\n        self.assertEqual({'wind': @A@}, {'wind': 0})\n"),
)
MYPY = Project(
    "mypy",
    ("mypy", "--no-incremental", "--strict", "-p", "mill"),
    PYTHON,
    (
        Bug("replace has another field", "mill/grain/batch.py", "replace(self, notes=", "replace(self, remarks="),
        Bug("the worker is not awaited", "mill/works/queue.py", "return await worker(batch)", "return worker(batch)"),
        Bug(
            "a kind that is not there",
            "mill/grain/batch.py",
            'WHEAT = "wheat"',
            'OATS = "oats"\n\n    def is_wheat(self) -> bool:\n        return self is Kind.WHEAT',
        ),
        Bug("a weight in words", "mill/grain/batch.py", "int(weight))", "weight)"),
        Bug("a kind in words", "mill/grain/batch.py", "Batch(Kind(name.strip().lower()), ", "Batch(name, "),
        Bug("no such module", "mill/__main__.py", "mill.works.queue import", "mill.works.queues import"),
        Bug("no such name", "mill/__main__.py", "import work\n", "import works as work\n"),
        Bug("a missing argument", "mill/works/queue.py", "one(batch) for", "one() for"),
        Bug("a wrong worker", "mill/works/queue.py", "Awaitable[str]]", "Awaitable[int]]"),
    ),
    name="mill",
    comment="#",
)
SCRIPT = {
    "package.json": '{ "type": "module" }\n',
    "src/grain/batch.js": """\
@PAD@
export const KINDS = ['rye', 'wheat'];

export class BadBatch extends TypeError {}

export function parsed(text) {
  const [name, weight] = text.split(':').map((part) => part.trim().toLowerCase());
  if (!KINDS.includes(name)) throw new BadBatch(`unknown kind ${name}`);
  return { kind: name, weight: Number(weight) };
}
""",
    "src/works/queue.js": """\
@PAD@
import { setTimeout as pause } from 'node:timers/promises';

export async function ground(batch) {
  await pause(1);
  return `flour of ${batch.kind}`;
}

export class Queue {
  #waiting = [];
  constructor({ hands = 2 } = {}) {
    this.hands = hands;
  }
  add(...batches) {
    this.#waiting.push(...batches);
    return this;
  }
  async work(worker = ground) {
    const made = [];
    while (this.#waiting.length > 0) {
      const some = this.#waiting.splice(0, this.hands);
      made.push(...(await Promise.all(some.map(worker))));
    }
    return made;
  }
}
""",
    "src/works/sums.js": """\
import { KINDS } from '../grain/batch.js';

@PAD@
export const byKind = (batches) =>
  Object.fromEntries(
    KINDS.map((kind) => {
      const own = batches.filter((each) => each.kind === kind);
      return [kind, own.reduce((sum, { weight }) => sum + weight, 0)];
    }),
  );
""",
}
SCRIPT_TESTS = {
    "test/grain.test.js": """\
@PAD@
HEAD
import { parsed } from '../src/grain/batch.js';
import { byKind } from '../src/works/sums.js';

describe('grain', () => {
  for (const text of ['rye:@A@', ' Rye :@A@', 'RYE: @A@']) {
    it(`reads ${text}`, () => {
      same(parsed(text), { kind: 'rye',weight: @A@ });
    });
  }
  it('refuses oats', async () => {
    await refuses((async () => parsed('oats:1'))(), 'TypeError');
  });
  it('is summed', () => {
    same(byKind([parsed('rye:@A@'), parsed('rye:@B@')]), { rye: @A@ + @B@,wheat: 0 });
  });
});
""",
    "test/works/queue.test.js": """\
@PAD@
HEAD
import { Queue } from '../../src/works/queue.js';

describe('Queue', () => {
  let queue;
  beforeEach(() => {
    queue = new Queue({ hands: 2 }).add({ kind: 'rye' }, { kind: 'wheat' }, { kind: 'rye' });
  });
  it('grinds in order', async () => {
    same(await queue.work(), ['flour of rye','flour of wheat','flour of rye']);
  });
  it('is empty then', async () => {
    await queue.work();
    same(await queue.work(), []);
  });
  it('takes another worker', async () => {
    same((await queue.work(async ({ kind }) => kind.length + @A@)).length, 3);
  });
});
""",
}
SCRIPT_RUN_BUGS = (
    Bug("kinds are loud", "src/grain/batch.js", "['rye',", "['RYE',"),
    Bug("words are not lowered", "src/grain/batch.js", "part.trim().toLowerCase()", "part.trim()"),
    Bug("words are not trimmed", "src/grain/batch.js", "part.trim().toLowerCase()", "part.toLowerCase()"),
    Bug("weights stay words", "src/grain/batch.js", "Number(weight)", "weight"),
    Bug("nothing is refused", "src/grain/batch.js", "if (!KINDS.includes(name)) ", "if (!name) "),
    Bug("kinds are asked wrongly", "src/grain/batch.js", "KINDS.includes(name)", "KINDS.has(name)"),
    Bug(
        "nobody waits",
        "src/works/queue.js",
        "made.push(...(await Promise.all(some.map(worker))))",
        "made.push(...some.map(worker))",
    ),
    Bug("promises are spread", "src/works/queue.js", "...(await Promise.all(", "...(Promise.all("),
    Bug(
        "the rest is forgotten",
        "src/works/queue.js",
        "while (this.#waiting.length > 0)",
        "if (this.#waiting.length > 0)",
    ),
    Bug("nothing is added", "src/works/queue.js", "    return this;\n", ""),
    Bug("flour has no name", "src/works/queue.js", "batch.kind}", "batch.name}"),
    Bug("the pause has another name", "src/works/queue.js", "setTimeout as pause", "sleep as pause"),
    Bug("sums begin at one", "src/works/sums.js", "sum + weight, 0)", "sum + weight, 1)"),
    Bug("sums are of words", "src/works/sums.js", "sum + weight, 0)", "sum + weight, '')"),
)
NODE_HEAD = "import assert from 'node:assert/strict';\nimport { describe, it, beforeEach } from 'node:test';"
FLAKY = ("test/grain.test.js", "it('has wind', () => {\n  throw new RangeError('no wind for @B@ hours');\n});\n")
NODE = harbour_scripts(
    "node",
    ("node", "--test"),
    NODE_HEAD,
    r"assert.deepEqual(\1, \2);",
    r"assert.rejects(\1, \2);",
    name="mill",
    sources=SCRIPT,
    tests=SCRIPT_TESTS,
    bugs=SCRIPT_RUN_BUGS,
    flaky=FLAKY,
)
VITEST = harbour_scripts(
    "vitest",
    ("vitest", "run"),
    "import { describe, it, expect, beforeEach } from 'vitest';",
    r"expect(\1).toEqual(\2);",
    r"expect(\1).rejects.toThrow(\2);",
    name="mill",
    sources=SCRIPT,
    tests=SCRIPT_TESTS,
    bugs=SCRIPT_RUN_BUGS,
    flaky=FLAKY,
)
C = Project(
    "gcc",
    ("make", "-s", "-k"),
    {
        "Makefile": "CFLAGS = -Wall -Wextra -Werror -I. $(COLOURS)\nparts = grain/batch.o works/store.o main.o\n"
        "mill: $(parts)\n\t$(CC) -o $@ $(parts)\n",
        "grain/batch.h": "#pragma once\nenum kind { RYE, WHEAT };\nstruct batch { enum kind kind; long weight; };\n"
        "int batch_parse(const char *text, struct batch *batch);\nconst char *kind_name(enum kind kind);\n",
        "grain/batch.c": """\
@PAD@
#include "grain/batch.h"
#include <stdlib.h>
#include <string.h>

const char *kind_name(enum kind kind) {
    switch (kind) {
    case RYE:
        return "rye";
    case WHEAT:
        return "wheat";
    }
    return "none";
}

@PAD@
int batch_parse(const char *text, struct batch *batch) {
    const char *colon = strchr(text, ':');
    if (colon == NULL)
        return -1;
    batch->kind = strncmp(text, "rye", 3) == 0 ? RYE : WHEAT;
    batch->weight = strtol(colon + 1, NULL, 10);
    return 0;
}
""",
        "works/store.h": '#pragma once\n#include "grain/batch.h"\n'
        "long store_sum(const struct batch *batches, int count);\n",
        "works/store.c": """\
@PAD@
#include "works/store.h"

long store_sum(const struct batch *batches, int count) {
    long sum = 0;
    for (int at = 0; at < count; at++)
        sum += batches[at].weight;
    return sum;
}
""",
        "main.c": """\
@PAD@
#include "works/store.h"
#include <stdio.h>

int main(int count, char **words) {
    struct batch batch = {RYE, 0};
    if (count > 1 && batch_parse(words[1], &batch) != 0)
        return 1;
    printf("%s %ld\\n", kind_name(batch.kind), store_sum(&batch, 1));
    return 0;
}
""",
    },
    (
        Bug("a member of the header is gone", "grain/batch.h", "long weight;", "long mass;"),
        Bug("a kind of the header is gone", "grain/batch.h", "{ RYE, WHEAT }", "{ RYE, OATS }"),
        Bug("a kind is left out", "grain/batch.c", '    case WHEAT:\n        return "wheat";\n', ""),
        Bug("a declaration is gone", "grain/batch.h", "const char *kind_name(enum kind kind);\n", ""),
        Bug(
            "another declaration is gone",
            "works/store.h",
            "long store_sum(const struct batch *batches, int count);\n",
            "",
        ),
        Bug("a wrong result", "works/store.h", "long store_sum", "int store_sum"),
        Bug("a wrong format", "main.c", "%ld", "%s"),
        Bug(
            "a function is not linked",
            "works/store.c",
            "long store_sum(const",
            "long store_total(const struct batch *, int);\nlong store_total(const",
        ),
        Bug("a header that is not there", "grain/batch.c", "<string.h>", "<strings/string.h>"),
    ),
    name="mill",
    parallel=("-j2",),
    colours=("COLOURS=-fdiagnostics-color=always",),
)
MILL = (PYTEST, UNITTEST, MYPY, NODE, VITEST, C)
