"""The second project for compilers: several files in several directories. All of it is held out. Data only."""

import seeded_harbour
from seeded_harbour_rust import CARGO, RUSTC
from seeded_projects import Bug, Project

TYPESCRIPT = {
    "tsconfig.json": '{ "compilerOptions": { "strict": true, "noEmit": true, "target": "es2022", "module": "esnext",'
    ' "moduleResolution": "bundler", "noUnusedLocals": true, "types": [] }, "include": ["src"] }\n',
    "src/tides/table.ts": """\
@PAD@
export type Hour = number;

export abstract class Source<T> {
  abstract read(hour: Hour): Promise<T | undefined>;
}

export class TideTable extends Source<number> {
  private readonly heights: ReadonlyMap<Hour, number>;
  constructor(heights: Iterable<[Hour, number]>) {
    super();
    this.heights = new Map(heights);
  }
  async read(hour: Hour): Promise<number | undefined> {
    return this.heights.get(hour % 24);
  }
}
""",
    "src/berths/allocation.ts": """\
@PAD@
import { TideTable, type Hour } from '../tides/table';

export interface Ship { readonly name: string; draught: number; flag?: 'coaster' | 'liner' }
export interface Berth { name: string; depth: number }

export class Allocator<B extends Berth> {
  private taken = new Set<string>();
  constructor(private readonly berths: B[], private readonly tides: TideTable) {}

  free(): B[] {
    return this.berths.filter((berth) => !this.taken.has(berth.name)).sort((a, b) => a.depth - b.depth);
  }

@PAD@
  async allocate(ship: Ship, hour: Hour): Promise<B | null> {
    const tide = (await this.tides.read(hour)) ?? 0;
    const berth = this.free().find((each) => each.depth + tide >= ship.draught);
    if (!berth) return null;
    this.taken.add(berth.name);
    return berth;
  }
}
""",
    "src/report.ts": """\
import { Allocator, type Berth, type Ship } from './berths/allocation';
import { TideTable } from './tides/table';

@PAD@
export async function report(ships: Ship[], berths: Berth[]): Promise<string[]> {
  const allocator = new Allocator(berths, new TideTable([[6, 1.5]]));
  const given = await Promise.all(ships.map((ship) => allocator.allocate(ship, 6)));
  return given.map((berth) => berth?.name ?? 'none');
}
""",
}
TSC = Project(
    "tsc",
    ("tsc", "-p", "."),
    TYPESCRIPT,
    (
        Bug("a reading may be missing", "src/berths/allocation.ts", " ?? 0;", ";"),
        Bug(
            "the tide is not awaited",
            "src/berths/allocation.ts",
            "(await this.tides.read(hour)) ?? 0",
            "this.tides.read(hour)",
        ),
        Bug("a berth may be missing", "src/report.ts", "berth?.name ?? 'none'", "berth.name"),
        Bug("a name that is not there", "src/report.ts", "berth?.name", "berth?.title"),
        Bug(
            "a depth that is not there",
            "src/berths/allocation.ts",
            "name: string; depth: number }",
            "name: string; depths: number }",
        ),
        Bug("a method is not written", "src/tides/table.ts", "async read(hour", "async look(hour"),
        Bug("a wrong argument", "src/report.ts", "allocator.allocate(ship, 6)", "allocator.allocate(ship, '6')"),
        Bug("too few arguments", "src/report.ts", "allocator.allocate(ship, 6)", "allocator.allocate(ship)"),
        Bug("the table is in another module", "src/report.ts", "'./tides/table'", "'./tide/table'"),
        Bug(
            "a read-only name is set",
            "src/berths/allocation.ts",
            "    if (!berth) return null;",
            "    ship.name = '';\n    if (!berth) return null;",
        ),
        Bug(
            "a flag that no ship has",
            "src/berths/allocation.ts",
            "    if (!berth) return null;",
            "    if (ship.flag === 'tug') return null;\n    if (!berth) return null;",
        ),
        Bug(
            "a value is not used",
            "src/berths/allocation.ts",
            "    if (!berth) return null;",
            "    const spare = 1;\n    if (!berth) return null;",
        ),
    ),
    name="harbour",
    colours=("--pretty",),
)
C = Project(
    "gcc",
    ("make", "-s", "-k"),
    {
        "Makefile": "CFLAGS = -Wall -Wextra -Werror -Iinclude $(COLOURS)\n"
        "parts = src/tides/table.o src/berths/allocation.o src/main.o\n"
        "harbour: $(parts)\n\t$(CC) -o $@ $(parts)\n",
        "include/harbour/tides.h": "#ifndef TIDES_H\n#define TIDES_H\n"
        "struct reading { int hour; double height; };\n"
        "double tide_height(const struct reading *readings, unsigned count, int hour);\n#endif\n",
        "include/harbour/berths.h": """\
#ifndef BERTHS_H
#define BERTHS_H
#include <stddef.h>
#define MARGIN 0.5
typedef enum { FREE, TAKEN } state_t;
struct berth { const char *name; double depth; state_t state; };
struct berth *berth_for(struct berth *berths, size_t count, double draught, double tide);
#endif
""",
        "src/tides/table.c": """\
@PAD@
#include <harbour/tides.h>

double tide_height(const struct reading *readings, unsigned count, int hour) {
    for (unsigned at = 0; at < count; at++) {
        if (readings[at].hour == hour % 24)
            return readings[at].height;
    }
    return 0.0;
}
""",
        "src/berths/allocation.c": """\
@PAD@
#include "harbour/berths.h"

static int fits(const struct berth *berth, double draught, double tide) {
    return berth->state == FREE && berth->depth + tide >= draught + MARGIN;
}

@PAD@
struct berth *berth_for(struct berth *berths, size_t count, double draught, double tide) {
    for (size_t at = 0; at < count; at++) {
        if (fits(&berths[at], draught, tide)) {
            berths[at].state = TAKEN;
            return &berths[at];
        }
    }
    return NULL;
}
""",
        "src/main.c": """\
@PAD@
#include <stdio.h>
#include <harbour/berths.h>
#include <harbour/tides.h>

int main(void) {
    struct reading readings[] = {{6, 1.5}, {18, 2.5}};
    struct berth berths[] = {{"south", 3.0, FREE}, {"north", 9.0, FREE}};
    double tide = tide_height(readings, 2, 6);
    struct berth *given = berth_for(berths, 2, 3.5, tide);
    printf("%s at %.1f\\n", given ? given->name : "none", tide);
    return 0;
}
""",
    },
    (
        Bug("a state that is not there", "src/berths/allocation.c", ".state = TAKEN", ".state = GIVEN"),
        Bug(
            "a member that is not there", "src/tides/table.c", "return readings[at].height", "return readings[at].level"
        ),
        Bug("a member of the header is gone", "include/harbour/tides.h", "double height;", "double level;"),
        Bug("signs are mixed", "src/tides/table.c", "unsigned at = 0", "int at = 0"),
        Bug(
            "a constant is written to",
            "src/berths/allocation.c",
            "*berth_for(struct berth *berths",
            "*berth_for(const struct berth *berths",
        ),
        Bug(
            "a function is not linked",
            "src/tides/table.c",
            "double tide_height(",
            "double tide_level(const struct reading *, unsigned, int);\ndouble tide_level(",
        ),
        Bug(
            "a function that nobody calls",
            "src/berths/allocation.c",
            "if (fits(&berths[at], draught, tide)) {",
            "if (berths[at].depth + tide > draught) {",
        ),
        Bug("a wrong format", "src/main.c", '"%s at %.1f', '"%s at %d'),
        Bug("too few arguments", "src/main.c", "berth_for(berths, 2, 3.5, tide)", "berth_for(berths, 2, tide)"),
        Bug("a pointer from a number", "src/main.c", "berth_for(berths, 2, 3.5, tide)", "berth_for(2, 2, 3.5, tide)"),
        Bug(
            "a brace is missing",
            "src/berths/allocation.c",
            "            return &berths[at];\n        }\n",
            "            return &berths[at];\n",
        ),
        Bug("a header that is not there", "src/main.c", "<harbour/tides.h>", "<harbour/tide.h>"),
    ),
    name="harbour",
    parallel=("-j2",),
    colours=("COLOURS=-fdiagnostics-color=always",),
)
AT = "src/main/java/org/harbour"
JAVA = Project(
    "javac",
    (
        "javac",
        "-Xlint:all",
        "-d",
        "out",
        f"{AT}/tides/TideTable.java",
        f"{AT}/berths/Allocator.java",
        f"{AT}/Report.java",
    ),
    {
        f"{AT}/tides/TideTable.java": """\
@PAD@
package org.harbour.tides;

import java.util.Map;
import java.util.Optional;

public final class TideTable implements Source {
    private final Map<Integer, Double> heights;

    public TideTable(Map<Integer, Double> heights) {
        this.heights = Map.copyOf(heights);
    }

    @Override
    public Optional<Double> read(int hour) {
        return Optional.ofNullable(heights.get(hour % 24));
    }
}

interface Source {
    Optional<Double> read(int hour);
}
""",
        f"{AT}/berths/Allocator.java": """\
@PAD@
package org.harbour.berths;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.harbour.tides.TideTable;

public class Allocator {
    public static class NoBerth extends Exception {
        private static final long serialVersionUID = 1L;

        public NoBerth(String ship) {
            super(ship);
        }
    }

    public record Berth(String name, double depth) {}

    private final List<Berth> free;
    private final TideTable tides;

    public Allocator(List<Berth> berths, TideTable tides) {
        this.free = new ArrayList<>(berths);
        this.tides = tides;
    }

@PAD@
    public Berth allocate(String ship, double draught, int hour) throws NoBerth {
        double tide = tides.read(hour).orElse(0.0);
        free.sort(Comparator.comparingDouble(Berth::depth));
        for (Berth berth : free) {
            if (berth.depth() + tide >= draught) {
                return berth;
            }
        }
        throw new NoBerth(ship);
    }
}
""",
        f"{AT}/Report.java": """\
package org.harbour;

import java.util.List;
import java.util.Map;
import org.harbour.berths.Allocator;
import org.harbour.tides.TideTable;

@PAD@
public class Report {
    public static void main(String[] arguments) throws Allocator.NoBerth {
        var berths = List.of(new Allocator.Berth("south", 3.0));
        var allocator = new Allocator(berths, new TideTable(Map.of(6, 1.5)));
        System.out.println(allocator.allocate("dory", 3.5, 6).name());
    }
}
""",
    },
    (
        Bug("a depth that is not there", f"{AT}/berths/Allocator.java", "berth.depth() + tide", "berth.deep() + tide"),
        Bug("a name that is not there", f"{AT}/Report.java", ".name()", ".title()"),
        Bug("a reading may be missing", f"{AT}/berths/Allocator.java", ".orElse(0.0)", ""),
        Bug("an error nobody declares", f"{AT}/Report.java", " throws Allocator.NoBerth", ""),
        Bug(
            "a method is not written",
            f"{AT}/tides/TideTable.java",
            "public Optional<Double> read(int hour) {",
            "public Optional<Double> look(int hour) {",
        ),
        Bug("a result is missing", f"{AT}/berths/Allocator.java", "        throw new NoBerth(ship);\n", ""),
        Bug("words for a draught", f"{AT}/Report.java", '"dory", 3.5, 6', '"dory", "3.5", 6'),
        Bug(
            "a package that is not there",
            f"{AT}/berths/Allocator.java",
            "org.harbour.tides.TideTable",
            "org.harbour.tide.TideTable",
        ),
        Bug(
            "a final field is set again",
            f"{AT}/berths/Allocator.java",
            "        free.sort(",
            "        tides = null;\n        free.sort(",
        ),
        Bug("a variable of another type", f"{AT}/berths/Allocator.java", "double tide = tides", "int tide = tides"),
        Bug(
            "a name that is not known",
            f"{AT}/berths/Allocator.java",
            "depth() + tide >= draught",
            "depth() + tide >= draft",
        ),
        Bug("a comparison of two kinds", f"{AT}/berths/Allocator.java", "tide >= draught", "tide >= ship"),
    ),
    name="harbour",
)
HARBOUR = (
    seeded_harbour.PYTEST,
    seeded_harbour.UNITTEST,
    seeded_harbour.NODE,
    seeded_harbour.VITEST,
    seeded_harbour.MYPY,
    TSC,
    C,
    JAVA,
    CARGO,
    RUSTC,
)
