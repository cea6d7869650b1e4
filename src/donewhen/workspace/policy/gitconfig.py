"""Git settings that make git run a program or decide where it sends data. Names only; no file is read."""

import re

_RUNS = re.compile(
    r"alias\..+|core\.(pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy|alternaterefscommand)"
    r"|sequence\.editor|pager\..+|diff\.external|diff\..+\.(command|textconv)|merge\..+\.driver|(diff|merge)tool\..+\.(cmd|path)"
    r"|filter\..+\.(clean|smudge|process)|credential(\..+)?\.helper|gpg(\..+)?\.program|include(if\..+)?\.path"
    r"|interactive\.difffilter|trailer\..+\.(command|cmd)|tar\..+\.command|browser\..+\.(cmd|path)|man\..+\.(cmd|path)"
    r"|submodule\..+\.update|uploadpack\.packobjectshook|protocol\..*allow|sendemail\..+|init\.templatedir"
)
_REMOTE = re.compile(r"remote\..+|url\..+|credential\..+|branch\..+\.(remote|pushremote)|push\..+|http\..+")
_HARMLESS = re.compile(r"|cat|true|false|:|less( -\w+)*|more|nano|vim?|/dev/null|\d+|never|always|user")


def runs_program(key: str) -> bool:
    return _RUNS.fullmatch(key.lower()) is not None


def names_remote(key: str) -> bool:
    return _REMOTE.fullmatch(key.lower()) is not None


def harmless(value: str) -> bool:
    """Return whether this is a common harmless value of such a setting: no pager, an editor that does nothing."""
    return _HARMLESS.fullmatch(value) is not None
