"""Projects for seeded bugs, one for each test runner; those of Python and JavaScript are in a separate file."""

from seeded_projects import Bug, Project
from seeded_scripts import JEST, MOCHA, NODE, PYTEST, UNITTEST, VITEST

RUST = Project(
    "cargo",
    ("cargo", "test", "--offline"),
    {
        "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": """\
@PAD@
pub mod money;

use std::collections::HashMap;

pub fn total(lines: &[(i64, i64)]) -> i64 {
    money::rounded(lines.iter().map(|(price, count)| price * count).sum())
}

pub fn discount(amount: i64, percent: i64) -> Result<i64, String> {
    if percent > 100 {
        return Err(format!("{percent} percent of {amount}"));
    }
    Ok(amount - amount * percent / 100)
}

pub fn page(items: &[i64], number: usize, size: usize) -> Vec<i64> {
    let end = (number * size + size).min(items.len());
    items[number * size..end].to_vec()
}

pub fn label(customer: &HashMap<&str, String>, id: i64) -> String {
    format!("{} #{}", customer.get("name").unwrap(), id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discount_takes_half() {
        assert_eq!(discount(@A@0, 50).unwrap(), @A@0 / 2);
    }
}
""",
        "src/money.rs": "pub fn rounded(amount: i64) -> i64 {\n    amount\n}\n",
        "tests/orders.rs": """\
@PAD@
use shop::*;
use std::collections::HashMap;

#[test]
fn total_of_lines() {
    assert_eq!(total(&[(@B@, 3)]), @B@ * 3);
}

#[test]
fn total_of_two_lines() {
    assert_eq!(total(&[(@B@, 3), (@A@, 2)]), @B@ * 3 + @A@ * 2, "of two lines");
}

#[test]
fn limit() {
    assert!(discount(@A@, @B@00).is_err());
}

#[test]
fn last_page() {
    assert_eq!(page(&[@A@, @B@, 3], 1, 2), vec![3]);
}

#[test]
fn labels() {
    let customer = HashMap::from([("name", "ada".to_string())]);
    assert_eq!(label(&customer, @A@), "ada #@A@");
}
""",
    },
    (
        Bug("total adds", "src/lib.rs", "price * count", "price + count"),
        Bug("discount limit", "src/lib.rs", "percent > 100 ", "percent > 100000 "),
        Bug("page runs over", "src/lib.rs", ".min(items.len())", ".min(items.len() + 1)"),
        Bug("page is shifted", "src/lib.rs", "items[number * size..end]", "items[number * size - 1..end]"),
        Bug("label asks for a wrong key", "src/lib.rs", 'get("name")', 'get("title")'),
        Bug("half is a third", "src/lib.rs", "percent / 100)", "percent / 150)"),
        Bug("total subtracts", "src/lib.rs", "price * count", "price - count", "total adds"),
        Bug("not done yet", "src/money.rs", "    amount\n", '    todo!("rounding {amount}")\n'),
    ),
    flaky=("tests/orders.rs", '\n#[test]\nfn clock() {\n    panic!("the clock is @A@ late");\n}\n'),
)
GO = Project(
    "go",
    ("go", "test", "./..."),
    {
        "go.mod": "module example.org/shop\n\ngo 1.19\n",
        "shop.go": """\
@PAD@
package shop

import "fmt"

type Customer struct{ Name string }

type Line struct{ Price, Count int }

func Total(lines []Line) int {
	sum := 0
	for _, line := range lines {
		sum += line.Price * line.Count
	}
	return sum
}

func Discount(amount, percent int) (int, error) {
	if percent > 100 {
		return 0, fmt.Errorf("%d percent of %d", percent, amount)
	}
	return amount - amount*percent/100, nil
}

func Page(items []int, number, size int) []int {
	end := number*size + size
	if end > len(items) {
		end = len(items)
	}
	return items[number*size : end]
}

func Label(customer *Customer, id int) string {
	return fmt.Sprintf("%s #%d", customer.Name, id)
}

func Found(name string) *Customer {
	return map[string]*Customer{"ada": {Name: "ada"}}[name]
}
""",
        "shop_test.go": """\
@PAD@
package shop

import (
	"fmt"
	"testing"
)

func TestTotal(t *testing.T) {
	if got := Total([]Line{{@B@, 3}}); got != @B@*3 {
		t.Errorf("total: got %d, want %d", got, @B@*3)
	}
}

func TestTotalOfTwo(t *testing.T) {
	if got := Total([]Line{{@B@, 3}, {@A@, 2}}); got != @B@*3+@A@*2 {
		t.Errorf("total of two: got %d", got)
	}
}

func TestDiscount(t *testing.T) {
	for _, amount := range []int{@A@0, @B@0} {
		t.Run(fmt.Sprint(amount), func(t *testing.T) {
			if got, err := Discount(amount, 50); err != nil || got != amount/2 {
				t.Fatalf("half of %d: got %d, %v", amount, got, err)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	if _, err := Discount(@A@, @B@00); err == nil {
		t.Error("no error over the limit")
	}
}

func TestPage(t *testing.T) {
	if got := Page([]int{@A@, @B@, 3}, 1, 2); len(got) != 1 || got[0] != 3 {
		t.Errorf("page: got %v", got)
	}
}

func TestLabel(t *testing.T) {
	if got := Label(Found("ada"), @A@); got != "ada #@A@" {
		t.Errorf("label: got %q", got)
	}
}
""",
    },
    (
        Bug("total adds", "shop.go", "line.Price * line.Count", "line.Price + line.Count"),
        Bug("discount limit", "shop.go", "percent > 100 ", "percent > 100000 "),
        Bug("page runs over", "shop.go", "end = len(items)", "end = cap(items) + 1"),
        Bug("page is shifted", "shop.go", "items[number*size : end]", "items[number*size-1 : end]"),
        Bug("nobody is found", "shop.go", '{"ada": {', '{"eve": {'),
        Bug("half is a third", "shop.go", "percent/100", "percent/150"),
        Bug("total subtracts", "shop.go", "line.Price * line.Count", "line.Price - line.Count", "total adds"),
        Bug("label is loud", "shop.go", '"%s #%d"', '"%s! #%d"'),
    ),
    shuffles=("-shuffle=@SEED@",),
    flaky=("shop_test.go", '\nfunc TestClock(t *testing.T) {\n\tt.Error("the clock is @A@ late")\n}\n'),
)
RSPEC = Project(
    "rspec",
    ("rspec", "-I", "."),
    {
        "shop.rb": """\
@PAD@
require 'money'

class TooMuch < StandardError; end

class Order
  attr_reader :id, :customer

  def initialize(id, customer)
    @id, @customer, @lines = id, customer, []
  end

  def add(price, count)
    @lines << [price, count]
  end

  def total
    Money.rounded(@lines.sum { |price, count| price * count })
  end

  def label
    "#{customer.fetch(:name).upcase} ##{id}"
  end
end

def discount(amount, percent)
  raise TooMuch, "#{percent} percent of #{amount}" if percent > 100
  amount - amount * percent / 100
end
""",
        "money.rb": "module Money\n  def self.rounded(amount)\n    amount.round(2)\n  end\nend\n",
        "spec/shop_spec.rb": """\
@PAD@
require 'shop'

RSpec.describe Order do
  subject(:order) { Order.new(@A@, { name: 'ada' }).tap { |made| made.add(@B@, 3) } }

  it 'has a total' do
    expect(order.total).to eq(@B@ * 3)
  end

  it 'has a total of two lines' do
    order.add(@A@, 2)
    expect(order.total).to eq(@B@ * 3 + @A@ * 2)
  end

  it 'has a label' do
    expect(order.label).to eq('ADA #@A@')
  end
end

RSpec.describe 'prices' do
  it 'takes half' do
    expect(discount(@A@0, 50)).to eq(@A@0 / 2)
  end

  it 'has a limit' do
    expect { discount(@B@, @A@00) }.to raise_error(TooMuch)
  end
end
""",
    },
    (
        Bug("total adds", "shop.rb", "price * count", "price + count"),
        Bug("discount limit", "shop.rb", "percent > 100\n", "percent > 100000\n"),
        Bug("label has no such method", "shop.rb", ".upcase", ".uppercase"),
        Bug("label asks for a wrong key", "shop.rb", "fetch(:name)", "fetch(:title)"),
        Bug("money is not there", "shop.rb", "require 'money'", "require 'monies'"),
        Bug("rounded is called otherwise", "money.rb", "self.rounded", "self.rounding"),
        Bug("total subtracts", "shop.rb", "price * count", "price - count", "total adds"),
        Bug("an undefined name", "shop.rb", "amount - amount *", "amount - ammount *"),
    ),
    comment="#",
    shuffles=("--seed", "@SEED@"),
    flaky=("spec/shop_spec.rb", "\nRSpec.describe 'clock' do\n  it('is right') { expect(@A@).to eq(0) }\nend\n"),
)
PHPUNIT = Project(
    "phpunit",
    ("phpunit", "--bootstrap", "shop.php", "ShopTest.php"),
    {
        "shop.php": """\
<?php
@PAD@
require 'money.php';

class TooMuch extends Exception {}

class Order
{
    private array $lines = [];

    public function __construct(public int $id, public array $customer) {}

    public function add($price, $count) { $this->lines[] = [$price, $count]; }

    public function total()
    {
        return rounded(array_sum(array_map(fn ($line) => $line[0] * $line[1], $this->lines)));
    }

    public function label() { return strtoupper($this->customer['name']) . " #" . $this->id; }
}

function discount($amount, $percent)
{
    if ($percent > 100) throw new TooMuch("$percent percent of $amount");
    return $amount - $amount * $percent / 100;
}
""",
        "money.php": "<?php\nfunction rounded($amount) { return round($amount, 2); }\n",
        "ShopTest.php": """\
<?php
@PAD@
use PHPUnit\\Framework\\TestCase;

final class ShopTest extends TestCase
{
    private Order $order;

    protected function setUp(): void
    {
        $this->order = new Order(@A@, ['name' => 'ada']);
        $this->order->add(@B@, 3);
    }

    public function testTotal(): void { $this->assertEquals(@B@ * 3, $this->order->total()); }

    public function testLabel(): void { $this->assertSame('ADA #@A@', $this->order->label()); }

    /** @dataProvider amounts */
    public function testHalf($amount): void { $this->assertEquals($amount / 2, discount($amount, 50)); }

    public static function amounts() { return [[@A@], 'more' => [@B@]]; }

    public function testLimit(): void
    {
        $this->expectException(TooMuch::class);
        discount(@B@, @A@00);
    }
}
""",
    },
    (
        Bug("total adds", "shop.php", "$line[0] * $line[1]", "$line[0] + $line[1]"),
        Bug("discount limit", "shop.php", "$percent > 100)", "$percent > 100000)"),
        Bug("label has no such function", "shop.php", "strtoupper(", "str_upper("),
        Bug("label asks for a wrong key", "shop.php", "customer['name']", "customer['title']"),
        Bug("rounded is called otherwise", "money.php", "function rounded", "function rounding"),
        Bug("total subtracts", "shop.php", "$line[0] * $line[1]", "$line[0] - $line[1]", "total adds"),
        Bug("half is a third", "shop.php", "$percent / 100;", "$percent / 150;"),
    ),
    shuffles=("--order-by=random", "--random-order-seed=@SEED@"),
)
PROJECTS = (PYTEST, UNITTEST, NODE, JEST, VITEST, MOCHA, RUST, GO, RSPEC, PHPUNIT)
