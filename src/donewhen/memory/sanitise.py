"""Sanitises untrusted texts before they are stored: no terminal sequences, no invisible characters, no secrets.

The meaning is not changed: text that looks like an instruction stays, and is shown as a quotation (see `hint`).
Sanitising a clean text changes nothing.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping

CUT = "…"
HIDDEN = "[secret]"
SHORTEST_SECRET = 4
SHORTEST_LINE = 8
"""Shorter texts occur in too many other words to be replaced."""
READ_FACTOR = 8
"""The text read, as a multiple of the size limit of the result: the input may have any length."""
SEQUENCE = re.compile(
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c\n]*(?:\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?"
)
LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Unicode categories without a visible form: control, format (direction, zero width), surrogate, private use and
unassigned characters."""
VARIANTS = re.compile(r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Letters and marks that are drawn as nothing. A long row of them can encode a hidden text."""

SECRETS = tuple(
    re.compile(pattern)
    for pattern in (
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?s:.)*?"
        r"(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        r"\b(?:AKIA|ASIA|AROA)[0-9A-Z]{16}\b",
        r"\b(?:gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})",
        r"\bxox[a-z]-[A-Za-z0-9-]{10,}",
        r"\bAIza[0-9A-Za-z_-]{30,}",
        r"\b(?:sk|pk|rk)[-_](?:[a-z]+[-_])?[A-Za-z0-9_-]{20,}",
        r"\b(?:npm|hf|dop_v1|shpat|glsa|lin_api)_[A-Za-z0-9]{20,}",
        r"\bpypi-[A-Za-z0-9_-]{30,}",
    )
)
WITH_DOTS = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)+")
WEB_TOKEN = re.compile(r"\beyJ(?=[A-Za-z0-9_-]{8})")
"""Start of a JSON web token: `{"` in base64. A token has three parts separated by dots."""
SHORTEST_PART = 8
NAMED = re.compile(
    r"(?i)((?:\b|_)(?:pass(?:word|wd|phrase)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret"
    r"|credentials?)['\"]?\s{0,4}(?::=|=>|[:=])\s{0,4})(['\"]?)([^\s'\",;)}]{6,})"
)
BEARER = re.compile(r"(?i)\b((?:bearer|basic)\s{1,4})([A-Za-z0-9+/=._~-]{12,})")
IN_ADDRESS = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s/@:]{0,100}:)([^\s/@]{1,200})(?=@)")
LIKE_A_NAME = re.compile(r"[A-Za-z_.]*[a-z_](?:\(.*|\[.*)?")
"""Matches a value that is code, not a secret: a name, a call, an attribute."""


def sanitise(text: str, most_bytes: int, redact: Callable[[str], str] = str) -> str:
    """Return the visible text, which may have several lines, without secrets, of at most `most_bytes`."""
    whole = redact(text)[: most_bytes * READ_FACTOR]  # before cutting, which could leave half of a secret
    return cut(without_secrets(redact(visible(whole))), most_bytes)


def sanitise_line(text: str, most_bytes: int) -> str:
    return cut(without_secrets(" ".join(visible(text[: most_bytes * READ_FACTOR]).split())), most_bytes)


def hide_secrets(text: str, secrets: Mapping[str, str]) -> str:
    """Replace every secret value by its name, also in its JSON-escaped form, and also if the lines of a long value are
    separated, as in a patch."""
    names = {form: name for name, value in secrets.items() for form in _forms(value)}
    for form in sorted(names, key=len, reverse=True):
        text = text.replace(form, f"[{names[form]}]")
    return text


def _forms(value: str) -> Iterator[str]:
    parts = [line.strip() for line in value.splitlines() if len(line.strip()) >= SHORTEST_LINE]
    for form in (value, value.strip(), *parts):
        for written in (form, json.dumps(form)[1:-1], json.dumps(form, ensure_ascii=False)[1:-1]):
            if len(written) >= SHORTEST_SECRET:
                yield written


def visible(text: str) -> str:
    """Return the text with only visible characters, tabs and line ends."""
    plain = VARIANTS.sub("", LINE_ENDS.sub("\n", SEQUENCE.sub("", text)))
    return "".join(c for c in plain if c in "\n\t" or unicodedata.category(c) not in INVISIBLE)


def without_secrets(text: str) -> str:
    """Replace what looks like a key, a token or a password."""
    for pattern in SECRETS:
        text = pattern.sub(HIDDEN, text)
    text = WITH_DOTS.sub(_without_web_tokens, text)
    text = BEARER.sub(rf"\1{HIDDEN}", IN_ADDRESS.sub(rf"\1{HIDDEN}", text))
    return NAMED.sub(_without_value, text)


def _without_web_tokens(found: re.Match[str]) -> str:
    kept, parts = list[str](), found[0].split(".")
    start, at = found.start(), 0
    while at < len(parts):
        token = None
        if at + 2 < len(parts) and len(parts[at + 1]) >= SHORTEST_PART:
            token = WEB_TOKEN.search(found.string, start, start + len(parts[at]))
        used = parts[at : at + 3] if token else parts[at : at + 1]
        kept.append(f"{found.string[start : token.start()]}{HIDDEN}" if token else parts[at])
        start += sum(map(len, used)) + len(used)
        at += len(used)
    return ".".join(kept)


def _without_value(found: re.Match[str]) -> str:
    """Replace a value, unless it is code: `token = read_token()` stays as it is."""
    is_code = not found[2] and LIKE_A_NAME.fullmatch(found[3])
    return found[0] if is_code or found[3].startswith(HIDDEN) else f"{found[1]}{found[2]}{HIDDEN}"


def cut(text: str, most_bytes: int) -> str:
    """Return at most `most_bytes` of UTF-8, never half a character. A shortened text ends in an ellipsis."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most_bytes:
        return data.decode()
    return data[: max(0, most_bytes - len(CUT.encode()))].decode("utf-8", "ignore") + CUT
