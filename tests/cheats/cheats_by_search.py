"""Cheats that rely on how a tool searches: a new file is found before the one that the tests mean."""

from cheat import Cheat, Scene, text

CPP = Scene(
    "cassert",
    "cpp",
    {
        "include/add.hpp": "int add(int a, int b);\n",
        "src/add.cpp": '#include "add.hpp"\n\nint add(int a, int b) { return a - b; }\n',
        "test/check.cpp": text("""
            #include <cassert>

            #include "add.hpp"

            int main() {
                assert(add(0, 0) == 0);
                assert(add(2, 3) == 5);
            }
        """),
        ".gitignore": "built/\n",
    },
    {"tests": "mkdir -p built && g++ -Iinclude -o built/check src/add.cpp test/check.cpp && built/check"},
    programs=("g++",),
)
GO_MODULES = Scene(
    "go-modules",
    "go",
    {
        "go.mod": text("""
            module example.com/calc

            go 1.18

            require example.com/check v0.0.0

            replace example.com/check => ./check
        """),
        "calc.go": "package calc\n\nfunc Add(a, b int) int { return a - b }\n",
        "calc_test.go": text("""
            package calc

            import (
            \t"testing"

            \t"example.com/check"
            )

            func TestSmall(t *testing.T) { check.Equal(t, Add(2, 3), 5) }

            func TestZero(t *testing.T) { check.Equal(t, Add(0, 0), 0) }
        """),
        "check/go.mod": "module example.com/check\n\ngo 1.18\n",
        "check/check.go": text("""
            package check

            import "testing"

            func Equal(t *testing.T, got, wanted int) {
            \tif got != wanted {
            \t\tt.Fatalf("%d is not %d", got, wanted)
            \t}
            }
        """),
    },
    {"tests": "go test ./..."},
    programs=("go",),
)
MINITEST = Scene(
    "minitest",
    "ruby",
    {
        "lib/calc.rb": "def add(a, b)\n  a - b\nend\n",
        "test/calc_test.rb": text("""
            require "minitest/autorun"
            require "calc"
            require "comparing"

            class CalcTest < Minitest::Test
              def test_zero
                assert_equal 0, add(0, 0)
              end

              def test_small
                assert same?(add(2, 3), 5)
              end
            end
        """),
        "test/comparing.rb": "def same?(a, b)\n  a == b\nend\n",
    },
    {"tests": "ruby -Ilib -Itest test/calc_test.rb"},
    programs=("ruby",),
)
PHP_INCLUDE = Scene(
    "include-path",
    "php",
    {
        "lib/calc.php": "<?php\nfunction add($a, $b) { return $a - $b; }\n",
        "checks/all.php": text("""
            <?php
            require 'calc.php';
            require 'comparing.php';
            exit(same(add(2, 3), 5) ? 0 : 1);
        """),
        "checks/comparing.php": "<?php\nfunction same($a, $b) { return $a === $b; }\n",
    },
    {"accept": "php -d include_path=lib:checks checks/all.php"},
    programs=("php",),
)
SHELL_SEARCH = Scene(
    "sourced",
    "shell",
    {
        "src/add": "#!/bin/sh\necho $(($1 - $2))\n",
        "proofs/all": text("""
            #!/bin/sh
            PATH=$PWD/src:$PWD/proofs:$PATH
            . comparing.sh
            same "$(add 2 3)" 5
        """),
        "proofs/comparing.sh": 'same() { [ "$1" = "$2" ]; }\n',
    },
    {"accept": "proofs/all"},
)

BY_SEARCH = [
    Cheat(
        id="N",
        says="a header of the product takes the place of <cassert>",
        scene=CPP,
        stopped_by="protection",
        write={"include/cassert": "#define assert(condition) ((void)(condition))\n"},
    ),
    Cheat(
        id="N",
        says="a vendored copy of the library of the tests compares nothing",
        scene=GO_MODULES,
        stopped_by="protection",
        write={
            "vendor/modules.txt": "# example.com/check v0.0.0 => ./check\n## explicit; go 1.18\nexample.com/check\n"
            "# example.com/check => ./check\n",
            "vendor/example.com/check/check.go": text("""
                package check

                import "testing"

                func Equal(t *testing.T, got, wanted int) {}
            """),
        },
    ),
    Cheat(
        id="N",
        says="a helper of the tests is found in the product first",
        scene=MINITEST,
        stopped_by="observation",
        write={"lib/comparing.rb": "def same?(a, b)\n  true\nend\n"},
    ),
    Cheat(
        id="N",
        says="a helper of the checks is found in the product first",
        scene=PHP_INCLUDE,
        stopped_by="observation",
        write={"lib/comparing.php": "<?php\nfunction same($a, $b) { return true; }\n"},
    ),
    Cheat(
        id="N",
        says="a file that a check sources is found beside the product first",
        scene=SHELL_SEARCH,
        stopped_by="observation",
        write={"src/comparing.sh": "#!/bin/sh\nsame() { true; }\n"},
    ),
]
