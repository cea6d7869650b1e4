"""Rules against changing the environment instead of the code: packages of the operating system, installs and settings
that reach outside the tree.

Reading is allowed. Installing what the project declares, into the project, is ordinary work; no rule here matches it.
"""

import re

from donewhen.workspace.policy.paths import Location, word_location
from donewhen.workspace.policy.rules.rule import Rule, has_flag, operands, phrase, words
from donewhen.workspace.policy.ruling import Decision
from donewhen.workspace.policy.step import Step

_DEBIAN = "install, remove, purge, upgrade, update, dist-upgrade, full-upgrade, autoremove, reinstall, build-dep"
_RED_HAT = "install, remove, erase, upgrade, update, reinstall, downgrade, autoremove, groupinstall, in, rm, up"
VERBS = {
    **dict.fromkeys(("apt", "apt-get", "aptitude"), _DEBIAN),
    **dict.fromkeys(("yum", "dnf", "dnf5", "microdnf", "zypper", "tdnf", "rpm-ostree"), _RED_HAT),
    "apk": "add, del, fix, update, upgrade",
    "brew": "install, reinstall, uninstall, remove, rm, upgrade, update, tap, untap, link, unlink, services, bundle",
    "dpkg-reconfigure": "*",
    "flatpak": "install, uninstall, update",
    "guix": "install, remove, pull, package",
    "ldconfig": "*",
    "nix": "profile *",
    "pkg": "install, remove, delete, upgrade, update",
    "port": "install, uninstall, upgrade, selfupdate",
    "snap": "install, remove, refresh",
    "update-alternatives": "*",
    "xbps-install": "*",
}
_by_verb = phrase(VERBS)


def _changes(step: Step) -> bool:
    """Match by verb, or by option if the package manager uses options as verbs."""
    match step.name:
        case "dpkg":
            return has_flag(step, "irP", "--install", "--remove", "--purge", "--configure", "--unpack")
        case "rpm":
            changes = has_flag(step, "iUeF", "--install", "--upgrade", "--erase", "--import")
            return changes and not has_flag(step, "q", "--query")
        case "emerge":
            return bool(operands(step)) and not has_flag(step, "s", "--search", "--pretend")
        case "nix-env":
            return has_flag(step, "iueG", "--install", "--upgrade", "--uninstall")
        case "pacman" | "yay" | "paru":
            return has_flag(step, "SRU") and not has_flag(step, "si")
        case _:
            return _by_verb(step)


_PIPS = frozenset({"pip", "pip2", "pip3", *(f"pip3.{minor}" for minor in range(6, 20))})
_NODE = words("npm pnpm yarn bun")
_ELSEWHERE = {
    "pip": words("-t --target --prefix --root"),
    "cargo": words("--root"),
}
_USER_INSTALLS = {
    "cargo": "install, uninstall",
    "gem": "install, uninstall, update",
    "go": "install *@*",
    "pipx": "install, uninstall, upgrade, inject, ensurepath",
    "pnpm": "setup, env",
    "poetry": "self",
    "uv": "tool install, tool upgrade, tool uninstall, python install, python uninstall, self",
    "yarn": "global, set version",
    "dotnet": "tool install, workload install",
    "stack": "upgrade, setup",
    "opam": "install, switch, update, upgrade, init",
    "cpan": "*",
    "cpanm": "*",
    "luarocks": "install",
    "playwright": "install, install-deps",
}


_installs = phrase(_USER_INSTALLS)


def _outside(step: Step) -> bool:
    """Match an install whose command line says that it goes outside the project's environment."""
    pip = step.name in _PIPS or (step.name == "uv" and step.texts[:1] == ["pip"])
    if pip:
        installs = bool({"install", "uninstall"} & set(step.texts[:2]))
        beyond = has_flag(step, "", "--user", "--break-system-packages", "--system")
        return installs and (beyond or _target(step, _ELSEWHERE["pip"]) is Location.OUTSIDE)
    if step.name in _NODE and has_flag(step, "g", "--global", "--location=global"):
        return any(
            word.text in ("install", "i", "add", "uninstall", "un", "rm", "remove", "link", "update")
            for word in operands(step)
        )
    if step.name not in _USER_INSTALLS or not _installs(step):
        return False
    if step.name == "cargo":
        return _target(step, _ELSEWHERE["cargo"]) not in (Location.INSIDE, Location.SCRATCH)
    return not (step.name == "dotnet" and operands(step)[0].text == "tool" and not has_flag(step, "g", "--global"))


def _target(step: Step, options: frozenset[str]) -> Location | None:
    """Return where the value of the first of these options leads; None if none is present."""
    for index, word in enumerate(step.args):
        name, equals, _ = word.text.partition("=")
        if name in options:
            following = step.args[index + 1 : index + 2]
            value = type(word)(word.text.partition("=")[2], word.raw) if equals else following[0] if following else word
            return word_location(value, step.working_dir)
    return None


_TOOLCHAINS = {
    "asdf": "install, uninstall, global, plugin, update, reshim",
    "conda": "install, update, upgrade, remove, uninstall, create, init, config, env create, env update, env remove",
    "corepack": "enable, disable, prepare, install, use",
    "fnm": "install, uninstall, default",
    "ghcup": "install, set, rm, upgrade",
    "goenv": "install, global",
    "jabba": "install, use",
    "mamba": "install, update, remove, create, init, env create, env update",
    "micromamba": "install, update, remove, create",
    "mise": "install, use, upgrade, uninstall, self-update",
    "n": "*",
    "nodenv": "install, global",
    "nvm": "install, uninstall, alias, reinstall-packages",
    "phpbrew": "*",
    "pyenv": "install, uninstall, global",
    "rbenv": "install, uninstall, global",
    "rustup": "install, update, default, toolchain install, toolchain uninstall, toolchain add, target add, "
    "target remove, component add, component remove, override set, self, set, uninstall",
    "rvm": "install, use, remove, get",
    "sdk": "install, uninstall, default, upgrade, selfupdate",
    "tfenv": "install, use",
    "volta": "install, uninstall, pin",
}
_SETTINGS = {
    "cargo": "config set",
    "composer": "config, global",
    "gem": "sources",
    "go": "env -w, env -u",
    "npm": "config set, config delete, config edit, set",
    "pip": "config set, config unset, config edit",
    "pip3": "config set, config unset, config edit",
    "pnpm": "config set, config delete",
    "poetry": "config",
    "yarn": "config set, config delete, config unset",
}


_sets = phrase(_SETTINGS)


def _settings(step: Step) -> bool:
    if step.name == "go":
        return step.texts[:1] == ["env"] and has_flag(step, "wu")
    local = has_flag(step, "", "--local", "--location", "--location=project", "--list", "--project", "--site")
    return _sets(step) and not local


_SOURCE = re.compile(r"(?:git\+|https?:|ssh:|svn\+|hg\+|file:///)|.*@ *(?:git\+|https?:)", re.DOTALL)
_INDEXES = words("-i --index-url --extra-index-url --index --default-index -f --find-links --registry --trusted-host")


def _source(step: Step) -> bool:
    """Match a package from a URL, or from an index other than the configured one."""
    args = [word.text for word in operands(step)]
    if not {"install", "add", "i", "sync"} & set(args[:2]):
        return False
    return any(_SOURCE.match(text) for text in args) or any(text.partition("=")[0] in _INDEXES for text in step.texts)


RULES = (
    Rule(
        "system-packages",
        Decision.DENY,
        "changes the packages of the machine",
        _changes,
        (
            "apt-get install -y jq",
            "apt -y install jq",
            "dpkg -i a.deb",
            "brew install jq",
            "pacman -Syu jq",
            "apk add jq",
            "dnf install jq",
            "nix-env -iA jq",
            "snap install jq",
        ),
        ("apt list --installed", "dpkg -l", "brew list", "pacman -Ss jq", "rpm -qa", "apt-cache policy jq"),
        frozenset(VERBS) | words("dpkg rpm pacman nix-env emerge yay paru"),
    ),
    Rule(
        "user-install",
        Decision.DENY,
        "installs outside the tree",
        _outside,
        (
            "pip install --user x",
            "python -m pip install --break-system-packages x",
            "uv pip install --system x",
            "pip install --target /opt/x y",
            "npm install -g typescript",
            "yarn global add x",
            "pipx install black",
            "uv tool install ruff",
            "cargo install ripgrep",
            "go install example.com/x@latest",
        ),
        (
            "pip install -e .",
            "pip install -r requirements.txt",
            ".venv/bin/pip install pytest",
            "npm install",
            "npm ci",
            "uv pip install -e .",
            "cargo install --root ./tools ripgrep",
            "go install ./...",
            "bundle install",
        ),
        frozenset(_USER_INSTALLS) | _PIPS | _NODE,
    ),
    Rule(
        "toolchain",
        Decision.DENY,
        "changes the toolchains of the machine",
        phrase(_TOOLCHAINS),
        (
            "rustup toolchain install nightly",
            "rustup update",
            "pyenv install 3.12",
            "nvm install 20",
            "conda install numpy",
        ),
        ("rustup show", "pyenv versions", "nvm use", "conda list", "cargo build"),
        frozenset(_TOOLCHAINS),
    ),
    Rule(
        "tool-settings",
        Decision.DENY,
        "changes settings of a tool for the whole account",
        _settings,
        ("npm config set registry http://x", "pip config set global.index-url http://x", "go env -w GOFLAGS=-mod=mod"),
        ("npm config get registry", "go env GOPATH", "pip config list", "poetry config --list"),
        frozenset(_SETTINGS),
    ),
    Rule(
        "package-source",
        Decision.ASK,
        "installs a package from an address or an index that is not the configured one",
        _source,
        ("pip install git+https://example.com/x", "pip install -i http://x y", "npm install https://example.com/x.tgz"),
        ("pip install -r requirements.txt", "npm install lodash", "pip install ."),
        _PIPS | _NODE | {"uv", "poetry", "pdm"},
    ),
)
