"""Reader of errors of gcc and clang, of the linker, and of the tools that run them: make, ninja and CMake.

A warning turned into an error has its option as the kind (`-Wunused-variable`, for both compilers). There are no other
codes, so the kind is a short name for the error, the same for both compilers if they mean the same. Notes, warnings and
summary lines of make (`make: *** [all] Error 2`) do not count.
"""

import re

from donewhen.readers.failures.failure import FailureReport
from donewhen.readers.failures.findings import Findings, lines, phrase

SUFFIX = r"(?:[cChHmMsS]|cc|cpp|cxx|c\+\+|hh|hpp|hxx|h\+\+|mm|cu|cuh|inl|ipp|tcc|inc|def|y|yy|l|ll|ino)"
COMPILER = re.compile(
    rf"\s*((?:[A-Za-z]:)?(?:/[^:]*|[^:\s]+)\.{SUFFIX}):([0-9]{{1,9}}):(?:[0-9]{{1,9}}:)? (?:fatal )?error: (.*)"
)
OPTION = re.compile(r"\[-W(?:error[=,](?:-W)?)?([\w+-]++)[^\[\]]*+\]$")
LINKER = re.compile(r"(undefined reference to|multiple definition of) [`'‘]([^`'‘’]{1,1000})['’].*")
LINKED = re.compile(rf"([^\s:]+\.{SUFFIX})(?:\.o|\.obj)?(?::([0-9]{{1,9}}))?\b")
LONGEST_PLACE = 400
LLD = re.compile(r"\S*ld(?:64)?(?:\.lld)?: error: ((?:undefined|duplicate) symbol): (.*)")
APPLE = re.compile(r"\s+\"(\S+)\", referenced from:")
LIBRARY = re.compile(
    r"\S*ld(?:\.\w+)?: (?:error: )?(?:cannot find|library not found for|unable to find library) (-l\S+?):?(?: .*)?"
)
ALONE = re.compile(
    r"(?:[^\s:]*[/-])?(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+|cc1|cc1plus|configure)(?:-[0-9.]{1,9})?: "
    r"(?:fatal )?error: (.*)"
)
"""A compiler error without a file and line."""
OF_THE_LINKER = ("linker command failed", "ld returned")
CMAKE = re.compile(r"CMake Error at ([^:\s]+):([0-9]{1,9}) \((\w+)\):")
NO_RULE = re.compile(r"\S*make(?:\[[0-9]+\])?: \*\*\* (No rule to make target [`']([^']+)'.*)")
NINJA = re.compile(r"ninja: error: ('([^']+)'.* missing and no known rule to make it.*)", re.DOTALL)
MAKEFILE = re.compile(r"(\S+):([0-9]{1,9}): (\*\*\* .*)Stop\.")
KINDS = {
    "was not declared": "undeclared",
    "undeclared": "undeclared",
    "has not been declared": "undeclared",
    "no member named": "no-member",
    "No such file or directory": "no-such-file",
    "no such file or directory": "no-such-file",
    "file not found": "no-such-file",
    "conflicting types for": "conflicting-types",
    "unknown type name": "unknown-type",
    "does not name a type": "unknown-type",
    "redefinition of": "redefinition",
    "no matching function": "no-matching-function",
    "no matching member function": "no-matching-function",
    "too few arguments": "wrong-arguments",
    "too many arguments": "wrong-arguments",
    "expected ": "expected",
}


def read(log: str) -> FailureReport | None:
    findings = Findings("gcc", "build", lines(log))
    for at, line in enumerate(findings.printed):
        if "error: " in line and (found := COMPILER.fullmatch(line)):
            option = OPTION.search(found[3])
            message = found[3][: option.start()] if option else found[3]
            findings.error(found[1], found[2], f"-W{option[1]}" if option else phrase(message, KINDS), message)
        elif not _add_linker_error(findings, line):
            _add_driver_error(findings, at, line)
    return findings.report()


def _add_linker_error(findings: Findings, line: str) -> bool:
    if (found := LINKER.search(line)) and _is_place(line[: found.start()]):
        place = LINKED.search(line[max(0, found.start() - LONGEST_PLACE) : found.start()])
        kind = found[1].rpartition(" ")[0].replace(" ", "-")
        findings.error(place[1] if place else "", place[2] if place else None, kind, found[0], name=found[2])
    elif (found := LLD.fullmatch(line)) or (found := APPLE.fullmatch(line)):
        symbol = found[found.lastindex or 1]
        kind = "multiple-definition" if found[1].startswith("duplicate") else "undefined-reference"
        findings.error("", None, kind, f"{kind.replace('-', ' ')}: {symbol}", name=symbol)
    elif found := LIBRARY.fullmatch(line):
        findings.error("", None, "cannot-find-library", line.partition(": ")[2], name=found[1])
    else:
        return False
    return True


def _is_place(text: str) -> bool:
    """Return True if the text before a linker message is empty or only words that each end in a colon."""
    return all(part == "" or (part.endswith(":") and len(part) > 1) for part in text.strip().split(" "))


def _add_driver_error(findings: Findings, at: int, line: str) -> None:
    if found := CMAKE.fullmatch(line):
        below = (text.strip() for text in findings.printed[at + 1 : at + 4])
        findings.error(found[1], found[2], found[3], next((text for text in below if text), ""))
    elif (found := NO_RULE.fullmatch(line)) or (found := NINJA.fullmatch(line)):
        findings.error(found[2], None, "no-rule-to-make-target", found[1])
    elif (found := ALONE.fullmatch(line)) and not found[1].startswith(OF_THE_LINKER):
        findings.error("", None, phrase(found[1], KINDS), found[1])
    elif found := MAKEFILE.fullmatch(line):
        message = found[3].strip("* .")
        findings.error(found[1], found[2], phrase(message), message)
