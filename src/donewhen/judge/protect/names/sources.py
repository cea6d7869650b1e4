"""Names of source files and of the directories where products usually have them. Tables only.

They say what is probably product. What they do not know is not product, if a check uses it.
"""

import re

from donewhen.judge.protect.names.test_names import is_test_directory
from donewhen.judge.protect.names.word_set import listed

SCRIPTED = listed(
    ".py .pyi .pyx .js .jsx .mjs .cjs .ts .tsx .mts .cts .vue .svelte .rb .pl .pm .php .lua .tcl .r .jl .sh .bash .ex"
    " .exs .erl .clj .cljs .coffee .groovy .raku .nim .cr .dart .gd .scm .lisp .el .ps1"
)
"""Suffixes of languages in which a tool may find its own settings as a program, by a name that it knows."""
COMPILED = listed(
    ".c .h .cc .cpp .cxx .hh .hpp .hxx .inl .m .mm .go .rs .java .kt .scala .cs .fs .vb .swift .hs .ml .mli .zig .v"
    " .sv .vhd .f .f90 .f95 .adb .ads .pas .s .asm .cu .proto .thrift .sol"
)
"""Suffixes of languages in which a build names every source."""
NOT_SOURCES = listed("""
    .json .yaml .yml .toml .ini .cfg .conf .csv .tsv .txt .xml .out .log .dat .bin .expected .golden .md .rst .lock .mk
    .make .cmake .am .ac .in .d .o .a .so .dll .gz .xz .zip
    .tar .png .jpg .jpeg .gif .ico .svg .pdf .pem .crt .key .snap .db
""")
"""Suffixes of data, of files that a build reads, and of files that are made. Any other suffix may be a language."""
USUAL_DIRECTORIES = listed("""
    src lib app apps include source sources cmd bin python js ts php ruby java server client backend frontend web api
    components pages routes models views controllers services templates static assets public locales migrations config
    db packages crates modules core
""")
"""Directories that usually contain the product, at any depth."""
SCRIPT_DIRECTORIES = listed(
    "scripts script ci .ci tools tool hack devtools build build-tools buildtools .github .gitlab .circleci make checks"
    " grading qa contrib automation"
)
"""Directories with scripts about the project, not with the product."""
MAIN_FILES = re.compile(
    r"(?:main|app|index|server|cli|manage|wsgi|asgi|__main__|__init__|program|run|start|mod|lib)", re.IGNORECASE
)
"""Stems of files that usually start the product, at the root."""
DOCUMENTS = re.compile(
    r"(?:[^/]+/)*(?:README|CHANGELOG|CHANGES|HISTORY|NEWS|LICEN[CS]E|COPYING|AUTHORS|CONTRIBUTING|NOTICE)(?:[.-][^/]*)?"
    r"|docs?/.*\.(?:md|rst|adoc)",
    re.IGNORECASE,
)


def suffix(path: str) -> str:
    name = path.rpartition("/")[2].lstrip(".")
    _, dot, last = name.rpartition(".")
    return f".{last.lower()}" if dot else ""


def stem(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[: -len(suffix(path))] if suffix(path) else name


def is_source(path: str) -> bool:
    """Return True for a source in a known language."""
    return suffix(path) in SCRIPTED or suffix(path) in COMPILED


def may_be_source(path: str) -> bool:
    """Return True for a source in any language. A hidden file is not a source."""
    return bool(suffix(path)) and suffix(path) not in NOT_SOURCES and not path.rpartition("/")[2].startswith(".")


def usual_directory(path: str) -> str:
    """Return the part of a path up to the first directory that usually contains a product; empty if there is none."""
    parts = path.split("/")[:-1]
    for at, part in enumerate(parts):
        if part in USUAL_DIRECTORIES:
            return "/".join(parts[: at + 1])
        if part in SCRIPT_DIRECTORIES or is_test_directory([part]):
            return ""
    return ""
