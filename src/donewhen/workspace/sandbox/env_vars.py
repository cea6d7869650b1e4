"""The environment variables of a sandboxed command: an allow-list. All others are removed unless requested.

Variables that select a toolchain or a locale are kept. Variables that hold a secret, an agent, a socket, or an option
that changes how a test runner behaves are not.
"""

from collections.abc import Iterable, Mapping

from donewhen.workspace.sandbox import home

USER = "donewhen"
KEPT = (
    "LANG", "LANGUAGE", "TZ", "COLUMNS", "LINES", "PYENV_ROOT", "PYENV_VERSION", "RUSTUP_HOME", "CARGO_HOME",
    "RUSTUP_TOOLCHAIN", "NVM_DIR", "NVM_BIN", "FNM_DIR", "FNM_MULTISHELL_PATH", "VOLTA_HOME", "N_PREFIX", "PNPM_HOME",
    "BUN_INSTALL", "DENO_INSTALL", "GOROOT", "GOPATH", "JAVA_HOME", "MAVEN_HOME", "GRADLE_HOME", "SDKMAN_DIR",
    "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "RBENV_ROOT", "DOTNET_ROOT", "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
    "GHCUP_INSTALL_BASE_PREFIX", "JULIAUP_DEPOT_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "NIX_PATH", "SOURCE_DATE_EPOCH",
)  # fmt: skip
PREFIXES = ("LC_",)


def command_environment(
    outside: Mapping[str, str],
    passed: Iterable[str] = (),
    extra: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the environment for a command: the allowed part of `outside`, the `passed` names, and `extra` on top."""
    wanted = {*KEPT, *passed}
    inside = {n: v for n, v in outside.items() if n in wanted or n.startswith(PREFIXES)}
    inside["PATH"] = ":".join(home.search_path(outside.get("PATH", ""))) or "/usr/local/bin:/usr/bin:/bin"
    inside["HOME"] = outside.get("HOME", "/")
    inside["TERM"] = "dumb"
    inside["SHELL"] = "/bin/sh"
    inside["USER"] = inside["LOGNAME"] = USER
    inside["TMPDIR"] = "/tmp"
    inside.setdefault("LANG", "C.UTF-8")
    return {**inside, **(extra or {})}
