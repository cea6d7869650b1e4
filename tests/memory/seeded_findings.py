"""Small projects for seeded bugs of compilers, type checkers and linters; see `seeded_projects`."""

from seeded_projects import Bug, Project

TYPED = """\
@PAD@
import json


class Order:
    def __init__(self, id: int, name: str) -> None:
        self.id = id
        self.name = name
        self.lines: list[tuple[int, int]] = []

    def total(self) -> int:
        return sum(price * count for price, count in self.lines)

    def label(self) -> str:
        return f"{self.name.upper()} #{self.id}"


@PAD@
def loaded(text: str) -> Order:
    fields = json.loads(text)
    order = Order(int(fields["id"]), str(fields["name"]))
    return order
"""
TYPED_FILES = {"shop.py": TYPED}
TYPE_BUGS = (
    Bug("no such method", "shop.py", "self.name.upper()", "self.name.uppercase()"),
    Bug("another missing method", "shop.py", "self.name.upper()", "self.name.capitals()"),
    Bug("no such attribute", "shop.py", "in self.lines)", "in self.rows)"),
    Bug("a wrong argument", "shop.py", 'Order(int(fields["id"])', 'Order(str(fields["id"])'),
    Bug("a wrong result", "shop.py", "    return order\n", "    return order.id\n"),
    Bug("an undefined name", "shop.py", "json.loads(text)", "json.loads(txt)"),
    Bug("no such module", "shop.py", "import json\n", "import json\nimport jsonic\n"),
)
LINT_BUGS = (
    Bug("an unused import", "shop.py", "import json\n", "import json\nimport os\n"),
    Bug("another unused import", "shop.py", "import json\n", "import json\nimport re\n"),
    Bug("an undefined name", "shop.py", "json.loads(text)", "json.loads(txt)"),
    Bug("an unused variable", "shop.py", "    return order\n", "    other = order\n    return order\n"),
    Bug("a comparison with None", "shop.py", "    return order\n", "    return order if order != None else order\n"),
    Bug(
        "an import not needed for its name", "shop.py", "return order\n", "return order\n\n\ndef loaded():\n    pass\n"
    ),
)
RUFF = Project("ruff", ("ruff", "check", "--isolated", "--no-cache", "."), TYPED_FILES, LINT_BUGS, comment="#")
MYPY = Project("mypy", ("mypy", "--no-incremental", "shop.py"), TYPED_FILES, TYPE_BUGS, comment="#")
PYRIGHT = Project("pyright", ("pyright", "shop.py"), TYPED_FILES, TYPE_BUGS, comment="#")

TYPESCRIPT = """\
@PAD@
import { rounded } from './money';

export interface Order { id: number; name: string; lines: [number, number][] }

export function total(order: Order): number {
  return rounded(order.lines.reduce((sum, [price, count]) => sum + price * count, 0));
}

@PAD@
export function label(order: Order): string {
  return `${order.name.toUpperCase()} #${order.id}`;
}
"""
TSC = Project(
    "tsc",
    ("tsc", "--noEmit", "--strict", "--target", "es2020", "--module", "esnext", "shop.ts"),
    {"shop.ts": TYPESCRIPT, "money.ts": "export const rounded = (amount: number): number => Math.round(amount);\n"},
    (
        Bug("no such method", "shop.ts", "name.toUpperCase()", "name.upper()"),
        Bug("another missing method", "shop.ts", "name.toUpperCase()", "name.capitals()"),
        Bug("no such property", "shop.ts", "order.lines.reduce", "order.rows.reduce"),
        Bug("a wrong result", "shop.ts", "return rounded(", "return '' + rounded("),
        Bug("no such module", "shop.ts", "'./money'", "'./monies'"),
        Bug("no such export", "money.ts", "const rounded", "const rounding"),
        Bug("an undefined name", "shop.ts", "sum + price * count", "sum + price * cnt"),
    ),
)
ESLINT = Project(
    "eslint",
    ("eslint", "."),
    {
        "eslint.config.js": "module.exports = [{"
        " languageOptions: { sourceType: 'commonjs', globals: { module: true } },"
        " rules: { 'no-undef': 2, 'no-unused-vars': 2, eqeqeq: 2, 'no-var': 2, 'no-empty': 2 } }];\n",
        "shop.js": """\
@PAD@
function total(lines) {
  const sum = lines.reduce((all, line) => all + line.price * line.count, 0);
  return sum;
}

@PAD@
function same(one, other) {
  return one === other;
}

module.exports = { total, same };
""",
    },
    (
        Bug("an undefined name", "shop.js", "return sum;", "return summ + sum;"),
        Bug("another undefined name", "shop.js", "return sum;", "return all + sum;"),
        Bug("an unused variable", "shop.js", "  return sum;", "  const rest = sum;\n  return sum;"),
        Bug("loose equality", "shop.js", "one === other", "one == other"),
        Bug("an old variable", "shop.js", "const sum", "var sum"),
        Bug("an empty block", "shop.js", "  return one", "  if (one) {}\n  return one"),
        Bug("broken grammar", "shop.js", "return one === other;", "return one === ;"),
    ),
)
C = Project(
    "gcc",
    ("gcc", "-Wall", "-Werror", "-c", "shop.c"),
    {
        "shop.c": """\
@PAD@
#include <stdio.h>
#include "money.h"

struct order { int id; const char *name; int price; int count; };

int total(struct order *order) {
    int sum = order->price * order->count;
    return rounded(sum);
}

@PAD@
void label(struct order *order) {
    printf("%s #%d", order->name, order->id);
}
""",
        "money.h": "int rounded(int amount);\n",
    },
    (
        Bug("no such member", "shop.c", "order->price *", "order->prize *"),
        Bug("another missing member", "shop.c", "order->count;", "order->number;"),
        Bug("an undeclared name", "shop.c", "rounded(sum)", "rounded(summ)"),
        Bug("no such header", "shop.c", '"money.h"', '"monies.h"'),
        Bug("an undeclared function", "shop.c", "return rounded(", "return rounding("),
        Bug("an unused variable", "shop.c", "    return", "    int rest = sum;\n    return"),
        Bug("a missing semicolon", "shop.c", "order->count;", "order->count"),
    ),
)
JAVA = Project(
    "javac",
    ("javac", "-d", "out", "Shop.java"),
    {
        "Shop.java": """\
@PAD@
import java.util.List;

public class Shop {
    private final String name;
    private final List<int[]> lines;

    public Shop(String name, List<int[]> lines) {
        this.name = name;
        this.lines = lines;
    }

    public int total() {
        return lines.stream().mapToInt(line -> line[0] * line[1]).sum();
    }

@PAD@
    public String label() {
        return name.toUpperCase();
    }
}
"""
    },
    (
        Bug("no such method", "Shop.java", "name.toUpperCase()", "name.upper()"),
        Bug("another missing method", "Shop.java", "name.toUpperCase()", "name.capitals()"),
        Bug("a wrong result", "Shop.java", "return name.toUpperCase();", "return 3;"),
        Bug("no such class", "Shop.java", "import java.util.List;", "import java.util.Liste;"),
        Bug("an undefined name", "Shop.java", "return lines.stream()", "return rows.stream()"),
        Bug("a missing semicolon", "Shop.java", "this.name = name;", "this.name = name"),
    ),
)
RUSTC = Project(
    "rustc",
    ("cargo", "build", "--offline"),
    {
        "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": """\
@PAD@
use std::collections::HashMap;

pub struct Order {
    pub id: i64,
    pub name: String,
    pub lines: Vec<(i64, i64)>,
}

impl Order {
    pub fn total(&self) -> i64 {
        self.lines.iter().map(|(price, count)| price * count).sum()
    }

@PAD@
    pub fn label(&self) -> String {
        format!("{} #{}", self.name.to_uppercase(), self.id)
    }
}

pub fn by_name(orders: Vec<Order>) -> HashMap<String, Order> {
    orders.into_iter().map(|order| (order.name.clone(), order)).collect()
}
""",
    },
    (
        Bug("no such method", "src/lib.rs", "name.to_uppercase()", "name.upper()"),
        Bug("another missing method", "src/lib.rs", "name.to_uppercase()", "name.capitals()"),
        Bug("no such field", "src/lib.rs", "self.lines.iter()", "self.rows.iter()"),
        Bug("a wrong result", "src/lib.rs", ".sum()\n", ".count()\n"),
        Bug("no such module", "src/lib.rs", "std::collections::HashMap;", "std::collection::HashMap;"),
        Bug("used after a move", "src/lib.rs", "order.name.clone(), order", "order.name, order"),
        Bug("an undefined name", "src/lib.rs", "price * count)", "price * cnt)"),
    ),
)
GO_BUILD = Project(
    "go build",
    ("go", "build", "./..."),
    {
        "go.mod": "module example.org/shop\n\ngo 1.19\n",
        "shop.go": """\
@PAD@
package shop

import "fmt"

type Order struct {
	Name         string
	Price, Count int
}

func (order Order) Total() int {
	return order.Price * order.Count
}

@PAD@
func (order Order) Label() string {
	return fmt.Sprintf("%s: %d", order.Name, order.Total())
}
""",
    },
    (
        Bug("no such method", "shop.go", "order.Total())", "order.Sum())"),
        Bug("no such field", "shop.go", "order.Price * ", "order.Prize * "),
        Bug("another missing field", "shop.go", "order.Count\n}", "order.Number\n}"),
        Bug("a wrong result", "shop.go", "return order.Price * order.Count", 'return "none"'),
        Bug("an unused import", "shop.go", 'import "fmt"', 'import "fmt"\nimport "os"'),
        Bug("an undefined name", "shop.go", "return order.Price", "return ordre.Price"),
    ),
)
FINDINGS = (RUFF, MYPY, PYRIGHT, TSC, ESLINT, C, JAVA, RUSTC, GO_BUILD)
