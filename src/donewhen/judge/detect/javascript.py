"""Finder for JavaScript and TypeScript: scripts of package.json, called through the package manager of the project.

A `test` script that only calls other scripts is split, so that tests, types and lint become separate checks. Nothing is
downloaded: tools are called from node_modules or not at all.
"""

import re
from collections.abc import Iterator, Mapping

from donewhen.judge.detect.ci_commands import plain_commands
from donewhen.judge.detect.package import Package, quoted, shown
from donewhen.judge.detect.proposal import FoundCheck, Hint, Kind
from donewhen.judge.detect.recognise import recognise
from donewhen.judge.detect.survey import Table, joined, table, text, texts
from donewhen.judge.runners.registry import all_runners

MANIFESTS = ("package.json",)
PLACEHOLDER = "no test specified"
LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}
TESTS = ("test", "test:unit", "tests", "unit", "test:ci", "tests-only")
TYPES = ("typecheck", "type-check", "check-types", "check:types", "types:check", "types", "tsc", "test:types")
LINT = ("lint", "eslint", "biome", "lint:js", "lint:check")
RUNS_ALL = re.compile(
    r"workspaces\b|(?:^|\s)-ws\b|\bturbo\b|\blerna\b|\bnx\b|(?:^|\s)-r\b|--recursive|\bvitest\b|\bjest\b|foreach"
)
CHANGES_FILES = re.compile(r"--fix\b|--write\b|--watch(?:All)?\b")
TEST_FILES = ("*.test.*js", "*.spec.*js", "*.test.ts", "*.spec.ts", "*.test.tsx", "*.spec.tsx", "*.test.jsx")
RUNNERS = {runner.name: runner.proposed for runner in all_runners() if runner.proposed}

Scripts = Mapping[str, str]


def find(package: Package) -> Iterator[FoundCheck | Hint]:
    manifest = package.json("package.json")
    scripts: Scripts = {
        name: body for name, body in table(manifest, "scripts").items() if isinstance(body, str) and body.strip()
    }
    manager = manager_of(package, manifest)
    found = list(_from_scripts(package, scripts, manager))
    if not any(one.kind == "tests" for one in found):
        found += _from_runners(package, manifest)
    if not any(one.kind == "types" for one in found):
        found += _from_tsconfig(package, manifest)
    yield from found
    yield from _about_dependencies(package, manifest, manager, bool(found))


def manager_of(package: Package, manifest: Table) -> str:
    """Return the package manager that the project names or whose lock file exists; npm if it is not installed."""
    named = [text(manifest, "packageManager").partition("@")[0]]
    for above in package.upward():
        named += [manager for lock, manager in LOCKS.items() if package.survey.has(joined(above, lock))]
        named.append(text(package.survey.json(joined(above, "package.json")), "packageManager").partition("@")[0])
    wanted = next((name for name in named if name in ("npm", "pnpm", "yarn", "bun")), "npm")
    return wanted if wanted == "npm" or package.programs(wanted) else "npm"


def covers_members(package: Package) -> bool:
    """Return True if the test script of the root also runs the tests of its workspaces."""
    body = text(table(package.json("package.json"), "scripts"), "test")
    return bool(RUNS_ALL.search(body))


# -- scripts --


def _from_scripts(package: Package, scripts: Scripts, manager: str) -> Iterator[FoundCheck]:
    seen: set[str] = set()
    for name in _wanted(scripts):
        for part, kind in _split_script(name, scripts, frozenset()):
            body = scripts[part]
            if part in seen or kind not in ("tests", "types", "lint") or CHANGES_FILES.search(body):
                continue
            seen.add(part)
            runner = next((tool.runner for tool in map(recognise, plain_commands(body)) if tool), manager)
            why = _why(package, part, body)
            yield FoundCheck(kind=kind, runner=runner, command=_call(manager, part), dir=package.dir, why=why)
    if "build" in scripts:
        why = _why(package, "build", scripts["build"])
        yield FoundCheck(kind="build", runner=manager, command=_call(manager, "build"), dir=package.dir, why=why)


def _why(package: Package, script: str, body: str) -> str:
    path, key = package.path("package.json"), f'"{script}"'
    short = body if len(body) <= 80 else body[:79] + "…"
    return f"{path}:{package.survey.line_of(path, key + ':')} has the script {key}: {short}"


def _wanted(scripts: Scripts) -> Iterator[str]:
    """Yield the scripts to examine: one for tests, one for types, one for lint."""
    real = {name: body for name, body in scripts.items() if PLACEHOLDER not in body and not CHANGES_FILES.search(body)}
    for names in (TESTS, TYPES, LINT):
        chosen = next((name for name in names if name in real), "")
        if chosen:
            yield chosen


def _split_script(name: str, scripts: Scripts, seen: frozenset[str]) -> Iterator[tuple[str, Kind]]:
    """Yield the scripts that a script calls, each with its kind; the script itself if it does anything else."""
    parts = [_script_called(words, scripts) for words in plain_commands(scripts[name])]
    whole = len(parts) == len(re.split(r"&&|;", scripts[name]))
    if name in seen or not parts or not whole or not all(parts) or len(seen) > 5:
        yield name, _kind(name, scripts[name])
        return
    for part in parts:
        yield from _split_script(part, scripts, seen | {name})


def _script_called(words: tuple[str, ...], scripts: Scripts) -> str:
    """Return the script that a command like `npm run lint` calls; empty for other commands or with arguments."""
    if words[0] not in ("npm", "pnpm", "yarn", "bun"):
        return ""
    rest = [word for word in words[1:] if word not in ("run", "run-script", "-s", "--silent")]
    return rest[0] if len(rest) == 1 and rest[0] in scripts else ""


def _kind(name: str, body: str) -> Kind:
    tools = [tool for words in plain_commands(body) if (tool := recognise(words)) is not None]
    kinds: list[Kind] = [tool.kind for tool in tools]
    if "tests" in kinds:
        return "tests"
    if kinds and len(kinds) == kinds.count(kinds[0]):
        return kinds[0]
    lowered = name.lower()
    by_name: tuple[tuple[str, Kind], ...] = (("lint", "lint"), ("type", "types"), ("tsc", "types"), ("build", "build"))
    for word, kind in by_name:
        if word in lowered:
            return kind
    return "tests"


def _call(manager: str, script: str) -> str:
    if script == "test" and manager != "bun":
        return f"{manager} test"
    return quoted(manager, "run", script)


# -- without scripts --


def _from_runners(package: Package, manifest: Table) -> Iterator[FoundCheck]:
    """Yield a check for a runner that is installed or configured although no script calls it."""
    tests = next(package.below(*TEST_FILES), "") or next(iter(package.survey.named(package.path("test"), "*.*js")), "")
    wanted = {**table(manifest, "dependencies"), **table(manifest, "devDependencies")}
    for runner, words in RUNNERS.items():
        config = next(iter(package.survey.named(package.dir, f"{runner}.config.*", f".{runner}rc*")), "")
        if tests and (config or runner in wanted):
            why = f"{config or package.path('package.json')} names {runner}, and {tests} is a test"
            if own_call := package.own_call(runner):
                words, why = (runner, *own_call[1].arguments), f"{own_call[0].where} runs {shown(own_call[0].words)}"
            command = quoted("npx", "--no-install", *words)
            yield FoundCheck(kind="tests", runner=runner, command=command, dir=package.dir, why=why)
            return
    if path := package.first_with("node:test", *TEST_FILES, "test*.js", "test*.mjs"):
        yield FoundCheck(
            kind="tests", runner="node:test", command="node --test", dir=package.dir, why=f"{path} uses node:test"
        )


def _from_tsconfig(package: Package, manifest: Table) -> Iterator[FoundCheck]:
    wanted = {**table(manifest, "dependencies"), **table(manifest, "devDependencies")}
    if not package.has("tsconfig.json") or "typescript" not in wanted:
        return
    # The file may contain comments, so it is not parsed as JSON.
    if match := re.search(r'"noEmit"\s*:\s*true', package.text("tsconfig.json")):
        path = package.path("tsconfig.json")
        why = f"{path}:{package.survey.line_of(path, match[0])} sets noEmit: it is used to check types"
        command = "npx --no-install tsc --noEmit"
        yield FoundCheck(kind="types", runner="tsc", command=command, dir=package.dir, why=why)


def _about_dependencies(package: Package, manifest: Table, manager: str, found: bool) -> Iterator[Hint]:
    needs = {**table(manifest, "dependencies"), **table(manifest, "devDependencies")}
    installed = any(joined(above, "node_modules") in package.survey.not_entered for above in package.upward())
    if found and needs and not installed:
        install = "npm ci" if manager == "npm" and package.above("package-lock.json") else f"{manager} install"
        yield Hint(f"{package.path('node_modules')} is missing: run `{install}` first, because checks have no network")


def members(package: Package) -> tuple[str, ...]:
    """Return the patterns that name the workspaces of a root package."""
    declared = package.json("package.json").get("workspaces")
    named = texts(declared) or texts(table(package.json("package.json"), "workspaces").get("packages"))
    lines = package.text("pnpm-workspace.yaml").splitlines()
    listed = [bare_item for line in lines if (bare_item := re.sub(r"^\s*-\s*|[\"']|(?<!\s)\s++#.*", "", line).strip())]
    inside = listed[listed.index("packages:") + 1 :] if "packages:" in listed else []
    return (*named, *(item for item in inside if not item.endswith(":")))
