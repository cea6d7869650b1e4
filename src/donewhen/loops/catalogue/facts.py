"""What a ready-made loop is filled in with, read from a repository. Nothing is run and no server is asked."""

import re
import shutil
from collections.abc import Callable, Mapping

from donewhen.errors import BadInput
from donewhen.judge.contract import Check
from donewhen.judge.detect.ci_commands import plain_commands
from donewhen.judge.detect.recognise import recognise
from donewhen.loops.forge.connect import place_of, token_for
from donewhen.records import frozen
from donewhen.session.settings import contract_file
from donewhen.session.settings.settings import Settings
from donewhen.workspace.git.repo import Repo

CHANGELOG = re.compile(r"(?:CHANGELOG|CHANGES|HISTORY|NEWS)(?:\.(?:md|rst|txt|adoc))?", re.IGNORECASE)
TESTS = re.compile(r"tests?|spec|unit", re.IGNORECASE)
REQUIREMENTS = re.compile(r"requirements[A-Za-z0-9_.-]*\.(?:txt|in)")
"""Names are part of the written commands: only plain characters."""


@frozen
class OutdatedCommand:
    """How the outdated dependencies of a manifest are listed."""

    manifest: str
    program: str
    command: str


NPM_OUTDATED = """\
listed=$(npm outdated 2>&1) || case $listed in *"npm ERR!"*|*"npm error"*) printf '%s\\n' "$listed"; exit 2 ;; esac
printf '%s\\n' "$listed\""""
"""npm exits with 1 if something is outdated, and also if it could not look."""
COMMANDS = (
    OutdatedCommand("package.json", "npm", NPM_OUTDATED),
    OutdatedCommand("uv.lock", "uv", "uv lock --upgrade --dry-run 2>&1"),
    OutdatedCommand("poetry.lock", "poetry", "poetry show --outdated --no-interaction"),
    OutdatedCommand("Cargo.toml", "cargo", "cargo update --dry-run 2>&1"),
    OutdatedCommand("go.mod", "go", "GOTOOLCHAIN=local go list -m -u all"),
    OutdatedCommand("Gemfile.lock", "bundle", "bundle outdated --parseable || [ $? -eq 1 ]"),
    OutdatedCommand("composer.lock", "composer", "composer outdated --direct --no-interaction --no-plugins"),
)
PIP = OutdatedCommand("", "pip", "PATH=$PWD/.venv/bin:$PATH pip list --outdated --disable-pip-version-check")
PYTHON_LOCKS = ("uv.lock", "poetry.lock")


@frozen(kw_only=True)
class RepositoryFacts:
    branch: str
    """The branch that is checked out; empty if HEAD is detached."""
    checks: tuple[Check, ...]
    """Those of donewhen.toml."""
    forge: str
    """The repository on its forge, if its token is there; else empty."""
    token_env: str
    no_forge: str
    """Why there is no forge to work with."""
    changelog: str
    outdated: tuple[OutdatedCommand, ...]
    """For each manifest whose program is installed."""
    without_program: tuple[OutdatedCommand, ...]

    @property
    def names_of_checks(self) -> tuple[str, ...]:
        return tuple(check.name for check in self.checks)

    @property
    def test_check(self) -> Check | None:
        """The check that runs the tests: by its command, else by its name, else the only one."""
        shown = [check for check in self.checks if not check.held_out]
        for fits in (_runs_tests, _is_named_so):
            for check in shown:
                if fits(check):
                    return check
        return shown[0] if len(shown) == 1 else None


def _runs_tests(check: Check) -> bool:
    tools = [recognise(words) for words in plain_commands(check.command)]
    return any(tool is not None and tool.kind == "tests" for tool in tools)


def _is_named_so(check: Check) -> bool:
    return TESTS.search(check.name) is not None


def facts_of(repo: Repo, settings: Settings, environment: Mapping[str, str]) -> RepositoryFacts:
    forge, token_env, no_forge = _forge(repo, settings, environment)
    names = sorted(repo.files.names())
    installed, missing = _manifests(names, lambda program: shutil.which(program) is not None)
    return RepositoryFacts(
        branch=repo.branch,
        checks=contract_file.contract_in(settings).checks,
        forge=forge,
        token_env=token_env,
        no_forge=no_forge,
        changelog=next((name for name in names if CHANGELOG.fullmatch(name) and repo.files.is_file(name)), ""),
        outdated=installed,
        without_program=missing,
    )


def _forge(repo: Repo, settings: Settings, environment: Mapping[str, str]) -> tuple[str, str, str]:
    try:
        place = place_of(repo, settings)
        token_for(place, environment)
    except BadInput as error:
        return "", "", str(error)
    return place.repository, place.token_env, ""


def _manifests(
    names: list[str], is_installed: Callable[[str], bool]
) -> tuple[tuple[OutdatedCommand, ...], tuple[OutdatedCommand, ...]]:
    """Return the commands for the manifests of a directory: those that can run here, and those that cannot."""
    found = [one for one in COMMANDS if one.manifest in names]
    required = [name for name in names if REQUIREMENTS.fullmatch(name)]
    if not any(lock in names for lock in PYTHON_LOCKS):
        required += [name for name in ("pyproject.toml",) if name in names]
        found += [OutdatedCommand(required[0], PIP.program, PIP.command)] if required else []
    installed = tuple(one for one in found if is_installed(one.program))
    return installed, tuple(one for one in found if one not in installed)
