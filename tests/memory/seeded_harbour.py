"""A second project for seeded bugs, with another structure than the shop: nested packages, fixtures, async work,
parameters, a program run by a test. For Python and JavaScript; all of its bugs are held out. Data only.

Its bugs were written before any rule was tried on them. If you tune rules after looking at them, write new ones.
"""

import re

from seeded_projects import Bug, Files, Project

TABLE = """\
@PAD@
import json
from pathlib import Path


class UnknownHour(LookupError):
    pass


class TideTable:
    def __init__(self, heights: dict[int, float]) -> None:
        self._heights = heights

    @classmethod
    def load(cls, path: Path) -> "TideTable":
        rows = json.loads(path.read_text())["heights"]
        return cls({int(hour): float(height) for hour, height in rows.items()})

    async def _reading(self, hour: int) -> float:
        try:
            return self._heights[hour % 24]
        except KeyError:
            raise UnknownHour(f"no reading for hour {hour}") from None

    async def height(self, hour: int) -> float:
        return await self._reading(hour) + 0.0
"""
ALLOCATION = """\
@PAD@
from dataclasses import dataclass, field

from harbour.tides.table import TideTable

MARGIN = 0.5


class NoBerth(Exception):
    pass


@dataclass(frozen=True)
class Ship:
    name: str
    draught: float
    flag: str = "none"


@dataclass(frozen=True)
class Berth:
    name: str
    depth: float


@PAD@
@dataclass
class Allocator:
    berths: list[Berth]
    tides: TideTable
    taken: set[str] = field(default_factory=set)

    def free(self) -> list[Berth]:
        return sorted((berth for berth in self.berths if berth.name not in self.taken), key=lambda berth: berth.depth)

    async def allocate(self, ship: Ship, hour: int) -> Berth:
        tide = await self.tides.height(hour)
        for berth in self.free():
            if berth.depth + tide >= ship.draught + MARGIN:
                self.taken.add(berth.name)
                return berth
        raise NoBerth(f"{ship.name} needs {ship.draught} m at hour {hour}")
"""
FEES = """\
from decimal import Decimal

from harbour.berths.allocation import Ship

REDUCED = {"coaster": Decimal("0.5")}


def fee(ship: Ship, nights: int, *, rate: int) -> Decimal:
    full = Decimal(nights * rate)
    return full * REDUCED.get(ship.flag, Decimal(1))


@PAD@
def receipt(ship: Ship, amount: Decimal) -> str:
    return f"{ship.name.title()} ({ship.flag}): {amount:.2f}"
"""
REPORT = """\
@PAD@
import sys

from harbour.berths.allocation import Ship
from harbour.berths.fees import fee, receipt


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: report SHIP NIGHTS", file=sys.stderr)
        return 2
    ship = Ship(arguments[0], 4.0)
    print(receipt(ship, fee(ship, int(arguments[1]), rate=20)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""
PACKAGE = {
    "harbour/__init__.py": "",
    "harbour/tides/__init__.py": "",
    "harbour/tides/table.py": TABLE,
    "harbour/berths/__init__.py": "",
    "harbour/berths/allocation.py": ALLOCATION,
    "harbour/berths/fees.py": FEES,
    "harbour/report.py": REPORT,
}
RUN_BUGS = (
    Bug("the tide is not awaited", "harbour/tides/table.py", "return await self._reading", "return self._reading"),
    Bug(
        "the deepest berth is given first",
        "harbour/berths/allocation.py",
        "berth: berth.depth)",
        "berth: -berth.depth)",
    ),
    Bug("the tide does not count", "harbour/berths/allocation.py", "berth.depth + tide >=", "berth.depth >="),
    Bug("there is no margin", "harbour/berths/allocation.py", "ship.draught + MARGIN", "ship.draught"),
    Bug("a berth is given twice", "harbour/berths/allocation.py", "self.taken.add(berth.name)", "pass"),
    Bug("a day too much is paid", "harbour/berths/fees.py", "nights * rate", "(nights + 1) * rate"),
    Bug(
        "the rate has another name",
        "harbour/berths/fees.py",
        "*, rate: int) -> Decimal:\n",
        "*, price: int) -> Decimal:\n    rate = price\n",
    ),
    Bug("coasters pay in full", "harbour/berths/fees.py", '"coaster": ', '"coasters": '),
    Bug("a flag that is not there", "harbour/berths/fees.py", "({ship.flag})", "({ship.ensign})"),
    Bug(
        "the table is in another module",
        "harbour/berths/allocation.py",
        "harbour.tides.table import",
        "harbour.tides.tables import",
    ),
    Bug("the heights have another key", "harbour/tides/table.py", '["heights"]', '["levels"]'),
    Bug("hours end at twelve", "harbour/tides/table.py", "hour % 24", "hour % 12"),
    Bug("the report speaks on the wrong stream", "harbour/report.py", "rate=20)))\n", "rate=20)), file=sys.stderr)\n"),
    Bug("the report takes words for numbers", "harbour/report.py", "int(arguments[1])", "int(arguments[0])"),
)
PYTEST = Project(
    "pytest",
    ("python", "-m", "pytest", "-p", "no:cacheprovider"),
    {
        **PACKAGE,
        "conftest.py": """\
@PAD@
import json

import pytest

from harbour.berths.allocation import Allocator, Berth
from harbour.tides.table import TideTable


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def tides(tmp_path):
    path = tmp_path / "tides-@A@.json"
    path.write_text(json.dumps({"heights": {"6": 1.5, "18": 2.5}}))
    return TideTable.load(path)


@pytest.fixture
def allocator(tides):
    return Allocator([Berth("north", 9.0), Berth("south", 3.0), Berth("west", 5.0)], tides)
""",
        "tests/tides/test_table.py": """\
@PAD@
import pytest

from harbour.tides.table import TideTable, UnknownHour


@pytest.mark.anyio
@pytest.mark.parametrize(("hour", "height"), [(6, 1.5), (18, 2.5), (42, 2.5)], ids=["dawn@A@", "dusk@A@", "next@A@"])
async def test_heights_by_the_hour(tides, hour, height):
    assert await tides.height(hour) == height


@pytest.mark.anyio
async def test_an_hour_without_a_reading():
    with pytest.raises(UnknownHour, match="hour 7"):
        await TideTable({6: 1.0}).height(7)
""",
        "tests/berths/test_allocation.py": """\
@PAD@
import pytest

from harbour.berths.allocation import NoBerth, Ship

pytestmark = pytest.mark.anyio


class TestAllocator:
    async def test_the_shallowest_that_does(self, allocator):
        assert (await allocator.allocate(Ship("dory-@A@", 3.5), 6)).name == "south"

    async def test_two_ships_get_two_berths(self, allocator):
        names = [(await allocator.allocate(Ship(f"ship-{n}", 2.0), 6)).name for n in (@A@, @B@)]
        assert names == ["south", "west"]

    @pytest.mark.parametrize("draught", [10.1, @B@.0])
    async def test_too_deep(self, allocator, draught):
        with pytest.raises(NoBerth):
            await allocator.allocate(Ship("tanker", draught), 6)
""",
        "tests/berths/test_fees.py": """\
from decimal import Decimal

import pytest

from harbour.berths.allocation import Ship
from harbour.berths.fees import fee, receipt


@PAD@
@pytest.mark.parametrize("nights", [@A@, @B@])
def test_fee_by_night(nights):
    assert fee(Ship("dory", 2.0), nights, rate=10) == Decimal(nights * 10)


def test_coasters_pay_half():
    assert fee(Ship("eider", 2.0, "coaster"), 4, rate=@A@) == Decimal(@A@ * 2)


def test_receipt():
    assert receipt(Ship("dory", 2.0, "coaster"), Decimal(@A@)) == "Dory (coaster): @A@.00"
""",
        "tests/test_report.py": """\
@PAD@
import subprocess
import sys


def run(*arguments):
    command = [sys.executable, "-m", "harbour.report", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_report_of_a_stay():
    print("asking for @A@ nights")
    assert run("dory", "@A@") == f"Dory (none): {@A@ * 20:.2f}\\n"
""",
    },
    RUN_BUGS,
    name="harbour",
    comment="#",
    parallel=("-n", "2"),
    colours=("--color=yes",),
    flaky=("tests/test_report.py", "\n\ndef test_fog():\n    raise TimeoutError('no answer on port @B@')\n"),
)
UNITTEST = Project(
    "unittest",
    ("python", "-m", "unittest", "discover", "-s", "tests", "-t", "."),
    {
        **PACKAGE,
        "tests/__init__.py": "",
        "tests/berths/__init__.py": "",
        "tests/berths/test_allocation.py": """\
@PAD@
import json
import tempfile
import unittest
from pathlib import Path

from harbour.berths.allocation import Allocator, Berth, NoBerth, Ship
from harbour.tides.table import TideTable


class AllocatorCase(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        path = Path(place.name) / "tides.json"
        path.write_text(json.dumps({"heights": {"6": 1.5, "18": 2.5}}))
        self.allocator = Allocator([Berth("north", 9.0), Berth("south", 3.0), Berth("west", 5.0)], TideTable.load(path))


class ChoiceTest(AllocatorCase):
    async def test_the_shallowest_that_does(self):
        berth = await self.allocator.allocate(Ship("dory-@A@", 3.5), 6)
        self.assertEqual(berth.name, "south")

    async def test_two_ships(self):
        names = [(await self.allocator.allocate(Ship(f"ship-{n}", 2.0), 6)).name for n in (@A@, @B@)]
        self.assertListEqual(names, ["south", "west"])

    async def test_too_deep(self):
        with self.assertRaisesRegex(NoBerth, "needs 10.1 m"):
            await self.allocator.allocate(Ship("tanker", 10.1), 6)


class TideTest(AllocatorCase):
    async def test_heights(self):
        for hour, height in ((6, 1.5), (18, 2.5), (42, 2.5)):
            with self.subTest(hour=hour, seed=@A@):
                self.assertAlmostEqual(await self.allocator.tides.height(hour), height)
""",
        "tests/test_money.py": """\
@PAD@
import subprocess
import sys
import unittest
from decimal import Decimal

from harbour.berths.allocation import Ship
from harbour.berths.fees import fee, receipt


class FeeTest(unittest.TestCase):
    def test_by_night(self):
        for nights in (@A@, @B@):
            with self.subTest(nights=nights):
                self.assertEqual(fee(Ship("dory", 2.0), nights, rate=10), Decimal(nights * 10))

    def test_coasters(self):
        self.assertEqual(fee(Ship("eider", 2.0, "coaster"), 4, rate=@A@), Decimal(@A@ * 2))

    def test_receipt(self):
        self.assertIn("Dory (coaster)", receipt(Ship("dory", 2.0, "coaster"), Decimal(@A@)))


class ReportTest(unittest.TestCase):
    def test_of_a_stay(self):
        command = [sys.executable, "-m", "harbour.report", "dory", "@A@"]
        self.assertEqual(subprocess.check_output(command, text=True), f"Dory (none): {@A@ * 20:.2f}\\n")
""",
    },
    RUN_BUGS,
    name="harbour",
    comment="#",
    flaky=("tests/test_money.py", "\n    def test_fog(self):\n        raise TimeoutError('no answer on port @B@')\n"),
)
MYPY = Project(
    "mypy",
    ("mypy", "--no-incremental", "--strict", "-p", "harbour"),
    PACKAGE,
    (
        Bug("the tide is not awaited", "harbour/tides/table.py", "return await self._reading", "return self._reading"),
        Bug(
            "the table is in another module",
            "harbour/berths/allocation.py",
            "harbour.tides.table import",
            "harbour.tides.tables import",
        ),
        Bug("a flag that is not there", "harbour/berths/fees.py", "({ship.flag})", "({ship.ensign})"),
        Bug("a name that is not there", "harbour/berths/fees.py", "ship.name.title()", "ship.title()"),
        Bug(
            "nothing may come back",
            "harbour/berths/allocation.py",
            "        raise NoBerth(",
            "        return None\n        raise NoBerth(",
        ),
        Bug(
            "a berth too many",
            "harbour/berths/allocation.py",
            "                return berth\n",
            "                return [berth]\n",
        ),
        Bug("draught in words", "harbour/report.py", "Ship(arguments[0], 4.0)", 'Ship(arguments[0], "4.0")'),
        Bug("nights in words", "harbour/report.py", "int(arguments[1])", "arguments[1]"),
        Bug("the rate is left out", "harbour/report.py", ", rate=20", ""),
        Bug(
            "a method without types",
            "harbour/tides/table.py",
            "async def height(self, hour: int) -> float:",
            "async def height(self, hour):",
        ),
        Bug("an untyped set", "harbour/berths/allocation.py", "taken: set[str] =", "taken: set ="),
    ),
    name="harbour",
    comment="#",
)

SCRIPT = {
    "package.json": '{ "type": "module" }\n',
    "src/tides/table.js": """\
@PAD@
export class UnknownHour extends Error {
  name = 'UnknownHour';
}

export class TideTable {
  #heights;
  constructor(heights) {
    this.#heights = new Map(Object.entries(heights));
  }
  async height(hour) {
    const found = this.#heights.get(String(hour % 24));
    if (found === undefined) throw new UnknownHour(`no reading for hour ${hour}`);
    return found;
  }
}
""",
    "src/berths/allocation.js": """\
@PAD@
import { EventEmitter } from 'node:events';

export const MARGIN = 0.5;

export class NoBerth extends Error {
  name = 'NoBerth';
}

export class Allocator extends EventEmitter {
  constructor(berths, tides) {
    super();
    this.berths = berths;
    this.tides = tides;
    this.taken = new Set();
  }
  free() {
    return this.berths.filter((berth) => !this.taken.has(berth.name)).sort((a, b) => a.depth - b.depth);
  }
  async allocate(ship, hour) {
    const tide = await this.tides.height(hour);
    const berth = this.free().find(({ depth }) => depth + tide >= ship.draught + MARGIN);
    if (!berth) throw new NoBerth(`${ship.name} needs ${ship.draught} m at hour ${hour}`);
    this.taken.add(berth.name);
    this.emit('given', berth.name);
    return berth;
  }
}
""",
    "src/berths/fees.js": """\
const REDUCED = { coaster: 0.5 };

@PAD@
export function fee(ship, { nights, rate }) {
  return nights * rate * (REDUCED[ship.flag] ?? 1);
}

export const receipt = (ship, amount) => `${ship.name.toUpperCase()} (${ship.flag}): ${amount.toFixed(2)}`;
""",
    "src/report.js": """\
import { fee, receipt } from './berths/fees.js';

@PAD@
const [name, nights] = process.argv.slice(2);
const ship = { name, flag: 'none' };
console.log(receipt(ship, fee(ship, { nights: Number(nights), rate: 20 })));
""",
}
SCRIPT_TESTS = {
    "test/berths/allocation.test.js": """\
@PAD@
HEAD
import { Allocator } from '../../src/berths/allocation.js';
import { TideTable } from '../../src/tides/table.js';

const harbour = () =>
  new Allocator(
    [{ name: 'north', depth: 9 }, { name: 'south', depth: 3 }, { name: 'west', depth: 5 }],
    new TideTable({ 6: 1.5, 18: 2.5 }),
  );

describe('Allocator', () => {
  let allocator;
  beforeEach(() => {
    allocator = harbour();
  });
  describe('when berths are free', () => {
    it('gives the shallowest that does', async () => {
      const given = await allocator.allocate({ name: 'dory-@A@', draught: 3.5 }, 6);
      same(given.name, 'south');
    });
    it('gives two ships two berths', async () => {
      const names = [];
      allocator.on('given', (name) => names.push(name));
      for (const n of [@A@, @B@]) await allocator.allocate({ name: `ship-${n}`, draught: 2 }, 6);
      same(names, ['south','west']);
    });
  });
  it('refuses what is too deep', async () => {
    await refuses(allocator.allocate({ name: 'tanker', draught: 10.1 }, 6), 'NoBerth');
  });
});

for (const [hour, height] of [[6, 1.5], [18, 2.5], [42, 2.5]]) {
  it(`knows the tide of hour ${hour}`, async () => {
    same(await harbour().tides.height(hour), height);
  });
}
""",
    "test/money.test.js": """\
@PAD@
HEAD
import { execFileSync } from 'node:child_process';
import { fee, receipt } from '../src/berths/fees.js';

describe('money', () => {
  for (const nights of [@A@, @B@]) {
    it(`is due for ${nights} nights`, () => {
      same(fee({ flag: 'none' }, { nights, rate: 10 }), nights * 10);
    });
  }
  it('is halved for coasters', () => {
    same(fee({ flag: 'coaster' }, { nights: 4, rate: @A@ }), @A@ * 2);
  });
  it('has a receipt', () => {
    console.log('printing receipt @A@');
    same(receipt({ name: 'dory', flag: 'coaster' }, @A@), 'DORY (coaster): @A@.00');
  });
  it('is reported by a program', () => {
    const printed = execFileSync(process.execPath, ['src/report.js', 'dory', '@A@'], { encoding: 'utf8' });
    same(printed.split(':')[0], 'DORY (none)');
  });
});
""",
}
SCRIPT_RUN_BUGS = (
    Bug("the tide is not awaited", "src/berths/allocation.js", "await this.tides.height", "this.tides.height"),
    Bug("the deepest berth is given first", "src/berths/allocation.js", "a.depth - b.depth", "b.depth - a.depth"),
    Bug("the tide does not count", "src/berths/allocation.js", "depth + tide >=", "depth >="),
    Bug("there is no margin", "src/berths/allocation.js", "ship.draught + MARGIN", "ship.draught"),
    Bug("a berth is given twice", "src/berths/allocation.js", "this.taken.add(berth.name);", ""),
    Bug("nobody is told", "src/berths/allocation.js", "this.emit('given'", "this.emit('taken'"),
    Bug("a day too much is paid", "src/berths/fees.js", "nights * rate", "(nights + 1) * rate"),
    Bug("the rate has another name", "src/berths/fees.js", "{ nights, rate }", "{ nights, price }"),
    Bug("coasters pay in full", "src/berths/fees.js", "{ coaster:", "{ coasters:"),
    Bug("a flag that is not there", "src/berths/fees.js", "(${ship.flag})", "(${ship.ensign.name})"),
    Bug("a private field is not there", "src/tides/table.js", "  #heights;\n", ""),
    Bug("the table is not exported", "src/tides/table.js", "export class TideTable", "class TideTable"),
    Bug("hours end at twelve", "src/tides/table.js", "hour % 24", "hour % 12"),
    Bug("the report has no program", "src/report.js", "./berths/fees.js", "./berths/fee.js"),
)


FLAKY = ("test/money.test.js", "it('sees through fog', () => {\n  throw new Error('no answer on port @B@');\n});\n")


def harbour_scripts(
    runner: str,
    command: tuple[str, ...],
    head: str,
    same: str,
    refuses: str,
    *,
    name: str = "harbour",
    sources: Files = SCRIPT,
    tests: Files = SCRIPT_TESTS,
    bugs: tuple[Bug, ...] = SCRIPT_RUN_BUGS,
    flaky: tuple[str, str] = FLAKY,
) -> Project:
    written = dict[str, str]()
    for file, text in tests.items():
        compared = re.sub(r"\bsame\((.*), (.*)\);", same, text.replace("HEAD", head))
        written[file] = re.sub(r"refuses\((.*), '(\w+)'\);", refuses, compared)
    return Project(runner, command, {**sources, **written}, bugs, name=name, flaky=flaky)


NODE = harbour_scripts(
    "node",
    ("node", "--test"),
    "import assert from 'node:assert/strict';\nimport { describe, it, beforeEach } from 'node:test';",
    r"assert.deepEqual(\1, \2);",
    r"assert.rejects(\1, { name: '\2' });",
)
VITEST = harbour_scripts(
    "vitest",
    ("vitest", "run"),
    "import { describe, it, expect, beforeEach } from 'vitest';",
    r"expect(\1).toEqual(\2);",
    r"expect(\1).rejects.toMatchObject({ name: '\2' });",
)
