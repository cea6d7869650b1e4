"""The second project in Rust, a workspace of two crates: for cargo's tests and for rustc. Held out. Data only."""

from seeded_projects import Bug, Project

CARGO_FILES = {
    "Cargo.toml": '[workspace]\nmembers = ["crates/tides", "crates/berths"]\nresolver = "2"\n',
    "crates/tides/Cargo.toml": '[package]\nname = "tides"\nversion = "0.1.0"\nedition = "2021"\n',
    "crates/tides/src/lib.rs": """\
@PAD@
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, PartialEq)]
pub enum TideError {
    UnknownHour(u32),
}

impl fmt::Display for TideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TideError::UnknownHour(hour) => write!(f, "no reading for hour {hour}"),
        }
    }
}

impl std::error::Error for TideError {}

pub struct TideTable {
    heights: BTreeMap<u32, f64>,
}

impl TideTable {
    pub fn new(rows: &[(u32, f64)]) -> Self {
        Self { heights: rows.iter().copied().collect() }
    }

    pub fn height(&self, hour: u32) -> Result<f64, TideError> {
        self.heights.get(&(hour % 24)).copied().ok_or(TideError::UnknownHour(hour))
    }
}

#[cfg(test)]
mod reading {
    use super::*;

    #[test]
    fn by_the_hour() -> Result<(), TideError> {
        let table = TideTable::new(&[(6, 1.5), (18, 2.5)]);
        assert_eq!(table.height(42)?, 2.5);
        Ok(())
    }

    #[test]
    fn of_an_unknown_hour() {
        assert_eq!(TideTable::new(&[]).height(@A@), Err(TideError::UnknownHour(@A@)));
    }
}
""",
    "crates/berths/Cargo.toml": '[package]\nname = "berths"\nversion = "0.1.0"\nedition = "2021"\n\n'
    '[dependencies]\ntides = { path = "../tides" }\n',
    "crates/berths/src/lib.rs": "pub mod allocation;\npub mod fees;\n",
    "crates/berths/src/fees.rs": """\
@PAD@
use std::process::Command;

pub fn fee(flag: &str, nights: u32, rate: u32) -> u32 {
    let full = nights * rate;
    match flag {
        "coaster" => full / 2,
        _ => full,
    }
}

pub fn printed(words: &str) -> String {
    let output = Command::new("echo").arg(words).output().expect("echo runs");
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}
""",
    "crates/berths/src/allocation.rs": """\
@PAD@
use tides::TideTable;

#[derive(Debug, Clone, PartialEq)]
pub struct Berth {
    pub name: String,
    pub depth: f64,
}

pub struct Allocator {
    pub berths: Vec<Berth>,
    pub tides: TideTable,
}

impl Allocator {
    pub fn allocate(&mut self, draught: f64, hour: u32) -> Option<Berth> {
        let tide = self.tides.height(hour).unwrap();
        self.berths.sort_by(|a, b| a.depth.total_cmp(&b.depth));
        let at = self.berths.iter().position(|berth| berth.depth + tide >= draught)?;
        Some(self.berths.remove(at))
    }
}
""",
    "crates/berths/tests/harbour.rs": """\
@PAD@
use berths::allocation::{Allocator, Berth};
use berths::fees::{fee, printed};
use tides::TideTable;

fn harbour() -> Allocator {
    let berths = [("north", 9.0), ("south", 3.0), ("west", 5.0)]
        .map(|(name, depth)| Berth { name: name.to_string(), depth });
    Allocator { berths: berths.to_vec(), tides: TideTable::new(&[(6, 1.5)]) }
}

mod choice {
    use super::*;

    #[test]
    fn the_shallowest_that_does() {
        assert_eq!(harbour().allocate(3.5, 6).map(|berth| berth.name), Some("south".to_string()));
    }

    #[test]
    fn two_ships() {
        let mut harbour = harbour();
        let names: Vec<_> = (0..2).map(|_| harbour.allocate(2.0, 6).unwrap().name).collect();
        assert_eq!(names, ["south", "west"], "ships @A@ and @B@");
    }

    #[test]
    #[should_panic(expected = "UnknownHour(7)")]
    fn at_an_unknown_hour() {
        harbour().allocate(2.0, 7);
    }
}

macro_rules! fees {
    ($($name:ident: $nights:expr,)*) => {
        $(#[test]
        fn $name() {
            assert_eq!(fee("none", $nights, 10), $nights * 10);
        })*
    };
}

fees! {
    fee_of_few: @A@,
    fee_of_many: @B@,
}

#[test]
fn coasters_pay_half() {
    assert!(fee("coaster", 4, @A@) == @A@ * 2, "coasters pay {}", fee("coaster", 4, @A@));
}

#[test]
fn printed_by_a_program() {
    println!("printing @A@");
    assert_eq!(printed("dory"), "dory");
}
""",
}
CARGO = Project(
    "cargo",
    ("cargo", "test", "--offline", "--workspace", "--no-fail-fast"),
    CARGO_FILES,
    (
        Bug(
            "the deepest berth is given first",
            "crates/berths/src/allocation.rs",
            "a.depth.total_cmp(&b.depth)",
            "b.depth.total_cmp(&a.depth)",
        ),
        Bug(
            "the tide does not count",
            "crates/berths/src/allocation.rs",
            "berth.depth + tide >=",
            "berth.depth - tide >=",
        ),
        Bug(
            "a berth is given twice",
            "crates/berths/src/allocation.rs",
            "self.berths.remove(at)",
            "self.berths[at].clone()",
        ),
        Bug(
            "a berth behind the last",
            "crates/berths/src/allocation.rs",
            "self.berths.remove(at)",
            "self.berths.remove(at + 3)",
        ),
        Bug(
            "a missing tide is none",
            "crates/berths/src/allocation.rs",
            ".height(hour).unwrap()",
            ".height(hour).unwrap_or(0.0)",
        ),
        Bug("a day too much is paid", "crates/berths/src/fees.rs", "nights * rate", "(nights + 1) * rate"),
        Bug("coasters pay in full", "crates/berths/src/fees.rs", '"coaster" =>', '"coasters" =>'),
        Bug("a program that is not there", "crates/berths/src/fees.rs", 'new("echo")', 'new("echoes")'),
        Bug("hours end at twelve", "crates/tides/src/lib.rs", "hour % 24", "hour % 12"),
        Bug(
            "the wrong hour is unknown",
            "crates/tides/src/lib.rs",
            "ok_or(TideError::UnknownHour(hour))",
            "ok_or(TideError::UnknownHour(hour + 1))",
        ),
    ),
    name="harbour",
    parallel=("--", "--test-threads=2"),
    colours=("--color=always",),
    flaky=("crates/berths/tests/harbour.rs", '\n#[test]\nfn fog() {\n    panic!("no answer on port @B@");\n}\n'),
)
RUSTC = Project(
    "rustc",
    ("cargo", "build", "--offline", "--workspace", "--keep-going"),
    CARGO_FILES,
    (
        Bug(
            "a berth is borrowed",
            "crates/berths/src/allocation.rs",
            "Some(self.berths.remove(at))",
            "Some(&self.berths[at])",
        ),
        Bug(
            "a field that is not there",
            "crates/berths/src/allocation.rs",
            "|berth| berth.depth + tide",
            "|berth| berth.deep + tide",
        ),
        Bug("a result is not opened", "crates/berths/src/allocation.rs", ".height(hour).unwrap()", ".height(hour)"),
        Bug("the allocator may not change", "crates/berths/src/allocation.rs", "allocate(&mut self", "allocate(&self"),
        Bug(
            "a kind that is not there",
            "crates/tides/src/lib.rs",
            "ok_or(TideError::UnknownHour(hour))",
            "ok_or(TideError::NoHour(hour))",
        ),
        Bug("a trait is not written", "crates/tides/src/lib.rs", "    fn fmt(&self, f:", "    fn form(&self, f:"),
        Bug(
            "a crate that is not there",
            "crates/berths/src/allocation.rs",
            "use tides::TideTable;",
            "use tide::TideTable;",
        ),
        Bug(
            "a private field",
            "crates/berths/src/allocation.rs",
            "self.tides.height(hour).unwrap()",
            "self.tides.heights[&hour]",
        ),
        Bug("a flag is left out", "crates/berths/src/fees.rs", "        _ => full,\n", ""),
    ),
    name="harbour",
    colours=("--color=always",),
)
