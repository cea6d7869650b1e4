"""Texts made to break a parser, the same every time."""

import importlib
import random
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from donewhen.short_lines import LONGEST_LINE

sre: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

SIZE = 200_000
LARGE = 4_000_000
DEEP = 100_000
LINE = LONGEST_LINE - 100
"""Slightly less than the limit of a bounded line, so that the limit does not hide what happens below it."""

RECORDED = Path(__file__).parents[1] / "readers" / "failure_logs"
RUNS = [
    *(bytes([code]) for code in b"a0 \t\n\r.:;,=*#_-+/\\\"'`|&!?%$@^~<>()[]{}\x00\xff\x1b"),
    *("\u00e9", "\u2028", "\ufeff", "\u0663"),
    *(b"a ", b"a,", b"a.", b"a:", b"a=1 ", b"a/", b"/a", b"- ", b"a\n", b" \n", b"\r\n", b"\\\n", b'\\"', b"()", b"[]"),
    *(b"{}", b"\x1b[", b"\x1b]", b"\x1b[31m", b"<a>", b"</a>", b"<!--", b"/*", b"//", b"&&", b"||", b"::", b"->"),
    *(b" - ", b"--- ", b"$(", b"${", b"<<", b"<<<", b"'''", b'"""', b"@@ ", b"+a\n-b\n", b"\n\n", b"a: b\n", b"- a\n"),
    *(b"a = 1\n", b"[a]\n", b"1, "),
]  # fmt: skip
LARGE_RUNS = [
    b"a", b" ", b"\n", b"[", b"<", b"a ", b"a/", b"a: b\n", b"- a\n", b'\\"', b'{"a":', b"<a>", b" - ", b"::", b"=[\n",
    b"'", b"a = 1\n", b"\x1b[", b"+a\n-b\n", b"a," * 9_000 + b"\n",
]  # fmt: skip
"""What the large texts repeat: open quotes and brackets, white space, and many short and some long lines."""
DOCUMENTS = [
    b"[" * DEEP,
    b"[" * DEEP + b"]" * DEEP,
    b'{"a":' * DEEP,
    b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    b'[{"a":' * 5_000 + b"1",
    b'{"a": ' + b"9" * SIZE + b"}",
    b'{"a": 1e' + b"9" * 5_000 + b"}",
    b'{"a": -' + b"9" * 4_000 + b', "b": NaN}',
    b'{"a": "' + b"\\ud800" * 30_000 + b'"}',
    b'{"a": "' + b"x" * SIZE,
    b'{"a": 1, ' + b'"a": 1, ' * 20_000 + b'"b": 2}',
    b"<a>" * 60_000,
    b"<a>" * 30_000 + b"</a>" * 30_000,
    b"<a b='" + b"x" * SIZE,
    b"<a " + b"".join(b"b%d='' " % at for at in range(20_000)) + b"/>",
    b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bbbbbbbbbb">'
    + b"".join(b'<!ENTITY %s "%s">' % (b"b" * (at + 2), b"&" + b"b" * (at + 1) + b";") * 10 for at in range(9))
    + b"]><a>&bbbbbbbbbb;</a>",
    b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    b"a = " + b"[" * DEEP,
    b"a = " + b"[" * 900 + b"]" * 900,
    b"a = {" + b"b = {" * 20_000,
    b"[a" + b".a" * 50_000 + b"]\nb = 1\n",
    b"".join(b"[a.%d]\nb = 1\n" % at for at in range(10_000)),
    b"a = " + b"9" * 100_000,
    b'a = """' + b"\\a" * DEEP,
    b"- " * DEEP,
    b"".join(b" " * at + b"a:\n" for at in range(500)),
    b"a: " + b"{" * DEEP,
    b"a: &a [" + b"*a, " * 40_000,
    b"a: |\n" + b" x\n" * 60_000,
    "a\n".encode("utf-16") * 40_000,
    b"\xf0\x28\x8c\x28" * 50_000,
    b"\xef\xbb\xbf" * 60_000,
]


def plain() -> Iterator[bytes]:
    """Texts that do not depend on the tested function."""
    for one in RUNS:
        run = one.encode() if isinstance(one, str) else one
        yield run * (SIZE // len(run))
        line = (run.replace(b"\n", b"") or b"a") * (LINE // len(run))
        yield (line + b"\n") * (SIZE // max(1, len(line)))
    yield from DOCUMENTS


def large(patterns: Iterable[re.Pattern[Any]], size: int) -> list[Callable[[], bytes]]:
    """Texts of about this size, made on demand."""
    runs = [partial(_run, unit, size) for unit in LARGE_RUNS]
    repeats = [(pattern, at) for pattern in patterns for at in range(_repeats(_tree(pattern)))]
    return [*runs, *(partial(make, *one, size) for one in repeats for make in (_pumped, _begun))]


def _run(unit: bytes, size: int) -> bytes:
    return unit * (size // len(unit))


def _begun(pattern: re.Pattern[Any], at: int, size: int) -> bytes:
    """The start of a match again and again, without an end."""
    return _run(_pumped(pattern, at, 40)[:-1] or b"a", size)


def against(pattern: re.Pattern[Any]) -> Iterator[bytes]:
    """Texts that start like a match: each repeat of the pattern once much too long, and the end missing."""
    for at in range(_repeats(_tree(pattern))):
        data = _pumped(pattern, at, SIZE // 4)
        yield data
        yield (data[:LINE] + b"!\n") * (SIZE // 4 // LINE)
        yield _begun(pattern, at, SIZE // 4)


def _pumped(pattern: re.Pattern[Any], at: int, size: int) -> bytes:
    text = "".join(_sample(_tree(pattern), [at], size))
    is_text = isinstance(pattern.pattern, str)
    data = text.encode("utf-8", "surrogatepass") if is_text else text.encode("latin-1", "replace")
    return data[: size - 1] + b"!"


def _tree(pattern: re.Pattern[Any]) -> Any:
    return parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)


def _repeats(tree: Any) -> int:
    return repr(tree).count("MAXREPEAT")


def _sample(tree: Any, countdown: list[int], size: int) -> Iterator[str]:
    """A text that matches; the repeat at which the countdown reaches zero is made very long."""
    for kind, value in tree:
        if kind is sre.LITERAL:
            yield chr(value)
        elif kind is sre.NOT_LITERAL:
            yield "a" if value != ord("a") else "b"
        elif kind is sre.ANY:
            yield "a"
        elif kind is sre.IN:
            yield _member(value)
        elif kind is sre.SUBPATTERN:
            yield from _sample(value[3], countdown, size)
        elif kind is sre.ATOMIC_GROUP:
            yield from _sample(value, countdown, size)
        elif kind is sre.BRANCH:
            yield from _sample(value[1][countdown[0] % len(value[1])], countdown, size)
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            least, most, body = value
            pumped = most is sre.MAXREPEAT and countdown[0] == 0
            countdown[0] -= most is sre.MAXREPEAT
            once = "".join(_sample(body, countdown, size))
            yield once * (size // max(1, len(once)) if pumped else max(1, min(least, 50)))


def _member(items: Any) -> str:
    for part, what in items:
        if part is sre.LITERAL:
            return chr(what)
        if part is sre.RANGE:
            return chr(what[0])
        if part is sre.CATEGORY:
            name = str(what).lower()
            return "a" if "not" in name or "word" in name else "0" if "digit" in name else " "
    outside = {what for part, what in items if part is sre.LITERAL}
    return next(char for char in "ab1 -" if ord(char) not in outside)


@cache
def recorded() -> tuple[bytes, ...]:
    """Output of real test runners, compilers and linters."""
    return tuple(path.read_bytes() for path in sorted(RECORDED.rglob("*")) if path.is_file())


def damaged(seed: int) -> bytes:
    """A recorded output with some parts removed, doubled, replaced or repeated very often."""
    chance = random.Random(seed)
    content = chance.choice(recorded())[:20_000]
    for _ in range(chance.randint(1, 6)):
        start = chance.randint(0, len(content))
        piece = content[start : start + chance.randint(1, 80)]
        times = chance.choice([0, 2, 2, 1_000])
        put = chance.choice([piece * times, b"\x00", b"\xff", b"\x1b[", b'"', b"<", b"9" * 5_000, chance.randbytes(8)])
        content = content[:start] + put + content[start + len(piece) :]
    return content[:SIZE]
