"""Text around a tool's output: thousands of lines of a CI service, or the lines of other programs that ran at the
same time. The lines are made up after real services; the output is not changed."""

import random
from collections.abc import Iterator, Sequence

PACKAGES = ("leftpad", "serde", "requests", "errors", "failure", "panic-hook", "lodash", "pytest", "mocha", "assert")
IN_FRONT, BEHIND = 3_000, 400
GREEN, RED, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[0m"
NEIGHBOUR = (
    "GET /orders/{n} 200 in {n} ms",
    "LOG:  checkpoint complete: wrote {n} buffers",
    'ERROR:  relation "migrations_{n}" does not exist at character {n}',
    "DEBUG cache miss for key {h}",
    "WARN slow query: {n} ms",
    "connection from 10.0.0.{n}:{n} closed",
)
"""Output of a database and a server next to a test run. Some of it looks like an error and means nothing."""


def as_seen(log: str, number: int, chance: random.Random) -> str:
    """The first of three runs unchanged, the second inside a whole CI log, the third among lines of other programs."""
    lines = log.split("\n")
    if number % 3 == 0:
        return log
    return _of_service(lines, chance) if number % 3 == 1 else _of_neighbours(lines, chance)


def _of_service(lines: Sequence[str], chance: random.Random) -> str:
    """Timestamps, groups and colours, set-up before and cleanup after."""
    whole = [
        "##[group]Runner Image Provisioner",
        "Hosted Compute Agent",
        "##[endgroup]",
        *_set_up(chance, IN_FRONT),
        "##[group]Run make check",
        f"\x1b[36;1mmake check{PLAIN}",
        "shell: /usr/bin/bash -e {0}",
        "##[endgroup]",
        *lines,
        f"##[error]Process completed with exit code {chance.choice((1, 2, 101))}.",
        *_set_up(chance, BEHIND),
        "Post job cleanup.",
        "[command]/usr/bin/git config --local --name-only --get-regexp core.sshCommand",
        "Cleaning up orphan processes",
    ]
    day, second = chance.randint(1, 28), chance.randint(0, 40_000)
    return "\ufeff" + "\n".join(_stamped(line, day, second + at // 20, chance) for at, line in enumerate(whole))


def _stamped(line: str, day: int, second: int, chance: random.Random) -> str:
    hours, minutes = second // 3_600, second // 60 % 60
    return f"2026-03-{day:02}T{hours:02}:{minutes:02}:{second % 60:02}.{chance.randint(0, 9_999_999):07}Z {line}"


def _set_up(chance: random.Random, count: int) -> Iterator[str]:
    for at in range(count):
        name = f"{chance.choice(PACKAGES)}-{chance.randint(1, 400)}"
        if at % 500 == 0:
            yield f"##[group]Install part {at}"
        yield chance.choice(
            (
                f"Downloading {name}.tar.gz ({chance.randint(1, 900)} kB)",
                f"   Compiling {name} v0.{chance.randint(1, 90)}.0",
                f"npm warn deprecated {name}@1.0.0: this package is not supported any more",
                f"{GREEN}✔{PLAIN} {name} built in {chance.randint(1, 900)}ms, 0 errors",
                f"Get:{at} http://deb.example.org/debian bookworm/main amd64 lib{name} amd64 1.{at} [{at} kB]",
                f"{RED}warning{PLAIN}: {name} has no license",
                f"layer {chance.getrandbits(48):012x}: Pull complete",
            )
        )


def _of_neighbours(lines: Sequence[str], chance: random.Random) -> str:
    """Every line starts with its source, and lines end as on Windows."""
    form = chance.choice(("{name:<9} | {line}", "[{name}] {line}", f"{GREEN}{{name:<9}} |{PLAIN} {{line}}"))
    mixed = list[str]()
    for line in lines:
        while chance.random() < 0.3:
            said = chance.choice(NEIGHBOUR).format(n=chance.randint(1, 254), h=f"{chance.getrandbits(64):016x}")
            mixed.append(form.format(name=chance.choice(("db-1", "web-1")), line=said))
        mixed.append(form.format(name="checks-1", line=line))
    return "\r\n".join(mixed)
