"""Checks that show if a project still builds, chosen by the files that it has. They run no tests and need no contract.

Missing tools are not detected here. If such a check is not green on the base, it proves nothing about a patch.
"""

from donewhen.judge.contract import Check
from donewhen.workspace.beneath import Root

TIMEOUT_SECS = 600

_PYTHON = r"""python3 -c 'import ast, os, sys
bad = 0
for place, below, names in os.walk("."):
    below[:] = [n for n in below if not n.startswith(".") and n not in ("node_modules", "venv", "__pycache__")]
    for name in names:
        if name.endswith(".py"):
            path = os.path.join(place, name)
            try: ast.parse(open(path, "rb").read(), path)
            except (SyntaxError, ValueError) as error: bad = 1; print(f"{path}: {error}")
sys.exit(bad)'"""
_TYPESCRIPT = "PATH=node_modules/.bin:$PATH tsc --noEmit -p ."
_COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("Cargo.toml", "build-rust", "cargo check --offline --all-targets"),
    ("go.mod", "build-go", "go build ./... && go vet ./..."),
    ("Package.swift", "build-swift", "swift build"),
    ("pom.xml", "build-maven", "mvn -o -q test-compile"),
    ("build.gradle", "build-gradle", "gradle --offline -q testClasses"),
    ("build.gradle.kts", "build-gradle", "gradle --offline -q testClasses"),
    ("tsconfig.json", "build-typescript", _TYPESCRIPT),
    ("CMakeLists.txt", "build-cmake", "cmake -S . -B /tmp/built && cmake --build /tmp/built"),
    ("mix.exs", "build-elixir", "mix compile --no-deps-check"),
    ("composer.json", "build-php", "find . -name vendor -prune -o -name '*.php' -print0 | xargs -0 -n 1 -P 2 php -l"),
    ("Gemfile", "build-ruby", "find . -name vendor -prune -o -name '*.rb' -print0 | xargs -0 -n 20 ruby -c"),
)
_PYTHON_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")


def build_checks(files: Root) -> tuple[Check, ...]:
    """Return the checks that show if the project in a directory still builds. Nothing is run here."""
    found: dict[str, str] = {}
    for file, name, command in _COMMANDS:
        if files.is_file(file):
            found.setdefault(name, command)
    names = files.names()
    if any(files.is_file(file) for file in _PYTHON_FILES) or any(name.endswith(".py") for name in names):
        found["build-python"] = _PYTHON
    if any(name.endswith((".sln", ".csproj")) for name in names):
        found["build-dotnet"] = "dotnet build --no-restore -v q"
    return tuple(
        Check(name=name, command=command, timeout_secs=TIMEOUT_SECS, min_tests=0) for name, command in found.items()
    )
