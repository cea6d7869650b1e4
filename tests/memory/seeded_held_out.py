"""Bugs that were written after readers, masks and rules had been settled. If you tune those, write new ones here."""

from seeded_projects import Bug, Project

PYTHON = (
    Bug("discount forgets to divide", "shop.py", "amount * percent / 100)", "amount * percent)"),
    Bug("lines are a dictionary", "shop.py", "customer, []", "customer, {}"),
    Bug("total unpacks three", "shop.py", "for price, count in self.lines", "for price, count, _ in self.lines"),
    Bug("discount divides by nothing", "shop.py", "percent / 100)", "percent / (percent - 50))"),
    Bug("saved writes bytes", "shop.py", "path.write_text(str(order.total()))", "path.write_bytes(str(order.total()))"),
)
SCRIPT = (
    Bug("discount forgets to divide", "shop.js", "(amount * percent) / 100)", "(amount * percent))"),
    Bug("lines are missing", "shop.js", "this.lines = [];", "this.rows = [];"),
    Bug("fetched gives nothing", "shop.js", "return new Order(id, { name: 'ada' });", "return null;"),
    Bug("page asks too much", "shop.js", "item.valueOf()", "item.value.of()"),
)
HELD_OUT: dict[str, tuple[Bug, ...]] = {
    "pytest": PYTHON,
    "unittest": PYTHON,
    "node": SCRIPT,
    "jest": SCRIPT,
    "vitest": SCRIPT,
    "mocha": SCRIPT,
    "go": (
        Bug("discount forgets to divide", "shop.go", "amount*percent/100", "amount*percent"),
        Bug("page begins late", "shop.go", "items[number*size : end]", "items[number*size+9 : end]"),
        Bug("label has no number", "shop.go", '"%s #%d", customer.Name, id', '"%s", customer.Name'),
    ),
    "rspec": (
        Bug("lines are missing", "shop.rb", "id, customer, []", "id, customer, nil"),
        Bug("discount divides by nothing", "shop.rb", "percent / 100\n", "percent / 0\n"),
        Bug("label is quiet", "shop.rb", ".upcase", ".downcase"),
    ),
    "phpunit": (
        Bug("label is quiet", "shop.php", "strtoupper(", "strtolower("),
        Bug("discount divides by nothing", "shop.php", "$percent / 100;", "$percent / 0;"),
        Bug("lines are missing", "shop.php", "$line[1], $this->lines", "$line[1], $this->rows"),
    ),
    "ruff": (
        Bug(
            "identity with a number", "shop.py", "    return order\n", "    return order if order.id is 1 else order\n"
        ),
        Bug(
            "a bare except",
            "shop.py",
            "    return order\n",
            "    try:\n        return order\n    except:\n        raise\n",
        ),
        Bug("text without a value", "shop.py", "    return order\n", '    print(f"none")\n    return order\n'),
    ),
    "gcc": (
        Bug("a pointer for a number", "shop.c", "int sum = order->price", "int sum = order->name"),
        Bug("too many arguments", "shop.c", "rounded(sum)", "rounded(sum, 2)"),
        Bug("a wrong format", "shop.c", '"%s #%d"', '"%d #%d"'),
    ),
    "go build": (
        Bug("a missing return", "shop.go", "	return order.Price * order.Count\n", ""),
        Bug("an unused variable", "shop.go", "	return order.Price", "	rest := 1\n	return order.Price"),
        Bug("too many results", "shop.go", "return order.Price * order.Count", "return order.Price, order.Count"),
    ),
}


def held_out(project: Project) -> tuple[Bug, ...]:
    """All bugs of the harbour, those of the shop in this file, and none of the mill."""
    if project.name == "harbour":
        return project.bugs
    return HELD_OUT.get(project.runner, ()) if project.name == "shop" else ()
