"""Projects for seeded bugs, for the test runners of Python and JavaScript. Data only."""

from seeded_projects import Bug, Project

PYTHON_SHOP = """\
@PAD@
from money import rounded


class TooMuch(ValueError):
    pass


class Order:
    def __init__(self, id, customer):
        self.id, self.customer, self.lines = id, customer, []

    def add(self, price, count):
        self.lines.append((price, count))

    def total(self):
        return rounded(sum(price * count for price, count in self.lines))

    def label(self):
        return f"{self.customer['name'].upper()} #{self.id}"


@PAD@
def discount(amount, percent):
    if percent > 100:
        raise TooMuch(f"{percent} percent of {amount}")
    return rounded(amount - amount * percent / 100)


def page(items, number, size):
    return [items[at] for at in range(number * size, min(len(items), number * size + size))]


def saved(order, directory):
    path = directory / f"order-{order.id}.txt"
    path.write_text(str(order.total()))
    return path
"""
PYTHON_MONEY = "def rounded(amount):\n    return round(amount, 2)\n"
PYTHON_BUGS = (
    Bug("total adds", "shop.py", "price * count for", "price + count for"),
    Bug("discount limit", "shop.py", "percent > 100:", "percent > 100000:"),
    Bug("page runs over", "shop.py", "min(len(items), number * size + size)", "number * size + size + 1"),
    Bug("label has no such method", "shop.py", "['name'].upper()", "['name'].uppercase()"),
    Bug("label asks for a wrong key", "shop.py", "self.customer['name']", "self.customer['title']"),
    Bug("money is not there", "shop.py", "from money import", "from monies import"),
    Bug("rounded is called otherwise", "money.py", "def rounded(", "def rounding("),
    Bug("saved elsewhere", "shop.py", 'directory / f"order', 'directory / "orders" / f"order'),
    Bug("an undefined name", "shop.py", "range(number * size", "range(nummer * size"),
    Bug("total subtracts", "shop.py", "price * count for", "price - count for", "total adds"),
    Bug("label has another missing method", "shop.py", "['name'].upper()", "['name'].capitals()"),
    Bug("total forgets rounding", "money.py", "round(amount, 2)", "str(amount)"),
)
PYTEST = Project(
    "pytest",
    ("python", "-m", "pytest", "-p", "no:cacheprovider"),
    {
        "shop.py": PYTHON_SHOP,
        "money.py": PYTHON_MONEY,
        "test_shop.py": """\
@PAD@
import pytest
from shop import Order, TooMuch, discount, page, saved


@pytest.fixture
def order():
    made = Order(@A@, {"name": "ada"})
    made.add(@B@, 3)
    return made


def test_total_of_lines(order):
    assert order.total() == @B@ * 3


def test_total_of_two_lines(order):
    order.add(@A@, 2)
    assert order.total() == @B@ * 3 + @A@ * 2


def test_label_names_the_customer(order):
    assert order.label() == "ADA #@A@"


@pytest.mark.parametrize("amount", [@A@, @B@])
def test_discount_takes_half(amount):
    assert discount(amount, 50) == amount / 2


@pytest.mark.parametrize("percent", [101, @A@00])
def test_discount_has_a_limit(percent):
    with pytest.raises(TooMuch):
        discount(@B@, percent)


class TestPages:
    def test_first(self):
        assert page(list(range(@A@)), 0, 2) == [0, 1]

    def test_last(self):
        assert page([@A@, @B@, 3], 1, 2) == [3]


def test_saved_on_disk(order, tmp_path):
    assert saved(order, tmp_path).read_text() == str(@B@ * 3)
""",
    },
    PYTHON_BUGS,
    comment="#",
    flaky=("test_shop.py", "\n\ndef test_clock():\n    assert @A@ < 0, 'the clock is late'\n"),
)
UNITTEST = Project(
    "unittest",
    ("python", "-m", "unittest"),
    {
        "shop.py": PYTHON_SHOP,
        "money.py": PYTHON_MONEY,
        "test_shop.py": """\
@PAD@
import tempfile
import unittest
from pathlib import Path
from shop import Order, TooMuch, discount, page, saved


class OrderTest(unittest.TestCase):
    def setUp(self):
        self.order = Order(@A@, {"name": "ada"})
        self.order.add(@B@, 3)

    def test_total(self):
        self.assertEqual(self.order.total(), @B@ * 3)

    def test_label(self):
        self.assertEqual(self.order.label(), "ADA #@A@")

    def test_saved(self):
        with tempfile.TemporaryDirectory() as place:
            self.assertEqual(saved(self.order, Path(place)).read_text(), str(@B@ * 3))


class PriceTest(unittest.TestCase):
    def test_half(self):
        for amount in (@A@, @B@):
            with self.subTest(amount=amount):
                self.assertEqual(discount(amount, 50), amount / 2)

    def test_limit(self):
        with self.assertRaises(TooMuch):
            discount(@B@, @A@00)

    def test_page(self):
        self.assertEqual(page([@A@, @B@, 3], 1, 2), [3])
""",
    },
    PYTHON_BUGS,
    comment="#",
    flaky=("test_shop.py", "\n    def test_clock(self):\n        self.assertLess(@A@, 0, 'the clock is late')\n"),
)

SCRIPT_SHOP = """\
@PAD@
const { rounded } = require('./money');

class TooMuch extends Error {}

class Order {
  constructor(id, customer) {
    this.id = id;
    this.customer = customer;
    this.lines = [];
  }
  add(price, count) {
    this.lines.push({ price, count });
  }
  total() {
    return rounded(this.lines.reduce((sum, line) => sum + line.price * line.count, 0));
  }
  label() {
    return `${this.customer.name.toUpperCase()} #${this.id}`;
  }
}

@PAD@
function discount(amount, percent) {
  if (percent > 100) throw new TooMuch(`${percent} percent of ${amount}`);
  return rounded(amount - (amount * percent) / 100);
}

function page(items, number, size) {
  return items.slice(number * size, number * size + size).map((item) => item.valueOf());
}

async function fetched(id) {
  if (id < 0) throw new TypeError(`no order ${id}`);
  return new Order(id, { name: 'ada' });
}

module.exports = { Order, TooMuch, discount, page, fetched };
"""
SCRIPT_MONEY = "exports.rounded = (amount) => Math.round(amount * 100) / 100;\n"
SCRIPT_BUGS = (
    Bug("total adds", "shop.js", "line.price * line.count", "line.price + line.count"),
    Bug("discount limit", "shop.js", "percent > 100)", "percent > 100000)"),
    Bug("page is shifted", "shop.js", "slice(number * size,", "slice(number * size + 1,"),
    Bug("label has no such method", "shop.js", "name.toUpperCase()", "name.upper()"),
    Bug("label asks for a wrong key", "shop.js", "this.customer.name", "this.client.name"),
    Bug("money is not there", "shop.js", "require('./money')", "require('./monies')"),
    Bug("rounded is called otherwise", "money.js", "exports.rounded", "exports.rounding"),
    Bug("fetched refuses", "shop.js", "id < 0", "id > 0"),
    Bug("an undefined name", "shop.js", "return items.slice", "return itens.slice"),
    Bug("total subtracts", "shop.js", "line.price * line.count", "line.price - line.count", "total adds"),
    Bug("label has another missing method", "shop.js", "name.toUpperCase()", "name.capitals()"),
    Bug("total gives words", "money.js", "Math.round(amount * 100) / 100", "String(amount)"),
)
SCRIPT_TESTS = """\
@PAD@
HEAD
const { Order, TooMuch, discount, page, fetched } = require('./shop');

describe('orders', () => {
  let order;
  beforeEach(() => {
    order = new Order(@A@, { name: 'ada' });
    order.add(@B@, 3);
  });
  it('has a total', () => {
    EQUAL(order.total(), @B@ * 3);
  });
  it('has a total of two lines', () => {
    order.add(@A@, 2);
    EQUAL(order.total(), @B@ * 3 + @A@ * 2);
  });
  it('has a label', () => {
    EQUAL(order.label(), 'ADA #@A@');
  });
  it('is fetched', async () => {
    EQUAL((await fetched(@A@)).id, @A@);
  });
});

describe('prices', () => {
  it('takes half', () => {
    EQUAL(discount(@A@, 50), @A@ / 2);
  });
  it('has a limit', () => {
    THROWS(() => discount(@B@, @A@00), TooMuch);
  });
  it('shows a page', () => {
    EQUAL(page([@A@, @B@, 3], 1, 2), [3]);
  });
});
"""


def scripts(runner: str, command: tuple[str, ...], head: str, expects: bool, shuffles: tuple[str, ...] = ()) -> Project:
    tests = SCRIPT_TESTS.replace("HEAD", head)
    for line in tests.splitlines():
        if "EQUAL(" in line and expects:
            given, wanted = line.strip()[6:-2].rsplit(", ", 1)
            tests = tests.replace(line, f"    expect({given}).toEqual({wanted});")
    tests = tests.replace("EQUAL(", "assert.deepStrictEqual(")
    throws = "    expect(() => discount(@B@, @A@00)).toThrow(TooMuch);"
    for line in tests.splitlines():
        if "THROWS(" in line and expects:
            tests = tests.replace(line, throws)
    tests = tests.replace("THROWS(", "assert.throws(")
    files = {"shop.js": SCRIPT_SHOP, "money.js": SCRIPT_MONEY, "shop.test.js": tests, "package.json": "{}\n"}
    flaky = ("shop.test.js", "it('keeps time', () => {\n  throw new Error('the clock is @A@ late');\n});\n")
    return Project(runner, command, files, SCRIPT_BUGS, shuffles=shuffles, flaky=flaky)


ASSERT = "const assert = require('node:assert');"
OF_NODE = f"{ASSERT}\nconst {{ describe, it, beforeEach }} = require('node:test');"
NODE = scripts("node", ("node", "--test", "shop.test.js"), OF_NODE, False)
JEST = scripts("jest", ("jest",), "", True, ("--randomize", "--seed=@SEED@"))
VITEST = scripts("vitest", ("vitest", "run", "--globals"), "", True, ("--sequence.shuffle", "--sequence.seed=@SEED@"))
MOCHA = scripts("mocha", ("mocha", "shop.test.js"), ASSERT, False)
