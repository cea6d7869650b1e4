"""Masks the parts of a message that differ between runs: paths, numbers, hashes, dates, addresses, temporary names.

Text that distinguishes failures must stay. If something is missing (a module, an attribute, a name, a type), its name
is kept unchanged, including digits. Every pattern reads a text of limited length once.
"""

import re

LONGEST = 600
LONGEST_MASKED = 300

MASKS = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"\b[a-z][a-z0-9+.-]{1,20}://[^\s'\"<>)]+", "<url>"),
        (r"\b[\w.+-]{1,80}@[\w-]{1,80}(?:\.[\w-]{1,80})+\b", "<mail>"),
        (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?", "<time>"),
        (r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
        (r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b", "<id>"),
        (r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\blocalhost:\d+", "<host>"),
        (r"\w*\[\d+ chars\]\w*", "<cut>"),
        (r"\.\.\.(?=[0-9a-fx]*\d)[0-9a-fx]+\b", "..."),
        (r"\b0[xX][0-9a-fA-F]+\b", "<address>"),
        (r"(?<=['\"`‘])(?:[A-Za-z]:)?[/\\][^'\"`’]{1,300}(?=['\"`’])", "<path>"),
        (r"(?:\b[A-Za-z]:\\|\\\\)[^\s'\"<>|:]+", "<path>"),
        (r"(?<![\w.<)/])~?/[^\s'\"<>():,;]+", "<path>"),
        (r"(?<![\w./@+-])[\w.@+-]{1,100}(?:/[\w.@+-]{1,100}){1,40}(?::\d+)*", "<path>"),
        (r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b", "<hash>"),
        (r"\btmp[\w-]{4,40}\b|\bpytest-of-\w+\b", "<temp>"),
        (r"(?<![\w)\]>])[-+](?=\d)", ""),
        (r"\d+(?:[._,]\d+)*(?:[eE][-+]?\d+)?", "<n>"),
        (r"<n>(?:,? <n>)+", "<n>"),
        (r"\s+", " "),
    )
)
MISSING = re.compile(
    r"no module named|cannot import name|cannot find (?:module|package|name|symbol|type|value|crate|function|method)"
    r"|could not (?:find|resolve)|can't resolve|cannot resolve|failed to (?:resolve|load|import)|unresolved|unknown"
    r"|has no (?:attribute|member|exported member|property)|is not defined|is not a (?:function|constructor|module)"
    r"|undefined (?:method|local variable|function|constant|variable|reference|symbol|array key|index|property|name)"
    r"|undefined:|cannot load such file|no such (?:module|method|file to load)|uninitialized constant|not declared"
    r"|does not exist on|no (?:method|field|function) named|call to undefined|class .{1,200} not found"
    r"|cannot read propert|(?:un)?expected keyword|unexpected keyword|missing \d+ required|does not provide an export",
    re.IGNORECASE,
)
KINDS = re.compile(
    r"ModuleNotFound|Import|Attribute|NameError|TypeError|Reference|NoMethod|LoadError|UnboundLocal|KeyError|NoSuch"
    r"|ClassNotFound|NoClassDef|attr-defined|name-defined|import|reportMissing|reportUndefined|reportAttribute"
    r"|F821|F401|E04(?:12|25|32|33)|E0599|E0609|TS2(?:304|305|307|339|551|552)"
)
NAME = re.compile(
    r"['\"`‘]([^\s'\"`’]{1,120})['\"`’]|([\w.$]{1,120}) is not (?:defined|a )|-- (\S{1,120})$|function (\w+)\(\)"
)
ABSOLUTE = re.compile(r"(?:[A-Za-z]:)?[/\\].*[/\\]")


def mask(message: str, kind: str = "") -> str:
    """Return the masked message in one line. The kind or the message shows whether it names something missing."""
    text = message[:LONGEST]
    if not (KINDS.search(kind) or MISSING.search(text)):
        return _mask(text)
    kept, at = list[str](), 0
    for name in NAME.finditer(text):
        kept += [_mask(text[at : name.start()]), _name(name)]
        at = name.end()
    return " ".join(part for part in [*kept, _mask(text[at:])] if part)[:LONGEST_MASKED]


def _name(found: re.Match[str]) -> str:
    """Return a missing name. Of an absolute path only the last part stays: the rest depends on the machine."""
    named = next(part for part in found.groups() if part)
    return found[0].replace(named, ABSOLUTE.sub("", named) or named)


def _mask(text: str) -> str:
    for pattern, instead in MASKS:
        text = pattern.sub(instead, text)
    return text.strip()[:LONGEST_MASKED]
