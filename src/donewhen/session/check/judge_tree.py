"""Judges a tree against the contract: the working tree or HEAD for a person, or any candidate. No model is used.

This module turns settings into what the judge needs: the contract, the environment of a run, and the candidate.
"""

import datetime
import hashlib
import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from donewhen import __version__
from donewhen.event_records import CheckResult
from donewhen.events import Emit, SessionStarted
from donewhen.judge import tool_identity
from donewhen.judge.contract import Contract
from donewhen.judge.defences import ALL, Defences
from donewhen.judge.green_proof import JudgeRequest
from donewhen.judge.judge import Judge
from donewhen.judge.judge_host import JudgeEnvironment
from donewhen.judge.run_cache import RUNS, RunCache
from donewhen.judge.used_paths import UsedPaths
from donewhen.judge.verdict import CheckStatus, Phase, Verdict
from donewhen.records import frozen
from donewhen.session.check import toolchain
from donewhen.session.check.held_out_files import find_held_out_files
from donewhen.session.outcome import Outcome
from donewhen.session.settings.contract_file import contract_in
from donewhen.session.settings.settings import Settings
from donewhen.session.workplace import Workplace, sandbox_config
from donewhen.workspace.beneath import Root
from donewhen.workspace.sandbox import env_vars
from donewhen.workspace.trees.trees import require_shareable

if TYPE_CHECKING:
    from donewhen.judge.protect.rules.product import ProductPattern

Subject = Literal["working", "as-is", "head"]
SECRET_FILE_BYTES = 64 * 1024
ENVIRONMENTS = (".venv", "venv", "node_modules", "vendor/bin", "vendor/bundle")
"""Where setup commands put programs. These paths are protected, so a candidate can put nothing there."""


class CheckRequest(NamedTuple):
    subject: Subject = "working"
    fresh: bool = False
    defences: Defences = ALL
    once: bool = False


@frozen
class VerdictView:
    """Receivers of a verdict."""

    emit: Emit
    """Receives the events while the checks run."""
    show: Callable[[Verdict], None]


async def check(workplace: Workplace, contract: Contract, request: CheckRequest, emit: Emit) -> Verdict:
    """Judge the working tree, or HEAD alone, against HEAD."""
    head = workplace.repo.head
    subject = head if request.subject == "head" else await workplace.store.snapshot()
    tree = TreeToJudge(
        base=head,
        candidate=await workplace.store.tree_of(subject),
        as_is=request.subject == "as-is",
        fresh=request.fresh,
        defences=request.defences,
        once=request.once,
    )
    return await judge_tree(workplace, contract, tree, emit)


@frozen(kw_only=True)
class TreeToJudge:
    """Any candidate over any base of a repository, and how to judge it."""

    base: str
    candidate: str
    phase: Phase = "final"
    as_is: bool = False
    """True: without protected paths."""
    fresh: bool = False
    """True: without cached runs."""
    only: Collection[str] = ()
    """Names of the checks to use; empty for all of the contract."""
    defences: Defences = ALL
    once: bool = False
    """True: no check runs a second time."""


@frozen
class Trial:
    """A run of checks on the working tree that is compared with nothing."""

    verdict: Verdict
    used: Mapping[str, UsedPaths]
    """What each check used, if it was observed."""


async def try_out(workplace: Workplace, contract: Contract, emit: Emit) -> Trial:
    """Run every check once on the working tree as it is. It is its own base, so that look-ups are recorded too."""
    base = await workplace.store.snapshot()
    tree = TreeToJudge(base=base, candidate=await workplace.store.tree_of(base), as_is=True, once=True)
    judge = await _judge_of(workplace, contract, tree, emit)
    return Trial(await judge.verdict(), judge.used)


async def propose_product(
    workplace: Workplace, contract: Contract, used: Sequence[UsedPaths]
) -> "tuple[ProductPattern, ...]":
    """Return patterns for what the work may change, of what these checks used on the working tree."""
    from donewhen.judge.protect.rules import proposed_product  # path rules: other verdicts load them on use

    base = await workplace.store.snapshot()
    return proposed_product.propose_product(contract, await workplace.trees.layers.root_of(base), used)


async def judge_tree(workplace: Workplace, contract: Contract, tree: TreeToJudge, emit: Emit) -> Verdict:
    return await (await _judge_of(workplace, contract, tree, emit)).verdict()


async def _judge_of(workplace: Workplace, contract: Contract, tree: TreeToJudge, emit: Emit) -> Judge:
    environment = judge_environment(workplace, contract)
    await find_held_out_files(workplace, tree.base, environment)
    if tree.only:
        contract = replace(contract, checks=tuple(check for check in contract.checks if check.name in tree.only))
    case = JudgeRequest(
        base=tree.base,
        candidate=tree.candidate,
        environment=replace(environment, trouble=await toolchain.mismatch(workplace, contract, environment)),
        today=datetime.datetime.now().astimezone().date(),
        phase=tree.phase,
        as_is=tree.as_is,
        defences=tree.defences,
        once=tree.once,
    )
    runs = RunCache(workplace.trees.directory / RUNS, tree.fresh)
    return Judge(workplace, contract, case, runs, emit)


async def held_out_files(workplace: Workplace, base: str) -> frozenset[str]:
    """Find the files of a base that only held-out checks may see. Raise BadInput if something else needs one."""
    environment = judge_environment(workplace, contract_in(workplace.settings))
    return await find_held_out_files(workplace, base, environment)


def started_event(workplace: Workplace, contract: Contract, base: str) -> SessionStarted:
    """Return the first event about a verdict in which no engine takes part."""
    return SessionStarted(
        intent="",
        repo=str(workplace.repo.root),
        base=base,
        engine=None,
        model=None,
        contract=asdict(contract),
        isolation=workplace.probe.level.value,
        path_transparent=workplace.probe.path_transparent,
    )


def judge_environment(workplace: Workplace, contract: Contract) -> JudgeEnvironment:
    """Return everything that a verdict depends on besides the tree and the check."""
    config = sandbox_config(workplace.settings)
    share = workplace.settings.texts("workspace", "share")
    setup = workplace.settings.texts("workspace", "setup")
    inside = env_vars.command_environment(os.environ, config.env)
    shared = shared_paths(workplace, share)
    path = tool_identity.trusted_path(inside["PATH"], workplace.repo.root, (*share, *(ENVIRONMENTS if setup else ())))
    words = {word for check in contract.checks for word in check.command.split()}
    installed = tool_identity.identity(path, Path(inside["HOME"]), sorted(words), shared)
    reaches_out = config.network or config.services or config.sockets
    facts = [
        __version__,
        workplace.probe.level.value,
        asdict(config),
        {**inside, "PATH": path},
        str(workplace.repo.root),
        installed,
    ]
    digest = hashlib.sha256(json.dumps(facts, default=str, sort_keys=True).encode("utf-8", "surrogateescape"))
    return JudgeEnvironment(
        path=path,
        digest="" if reaches_out else digest.hexdigest(),
        tools=installed,
        passed={name: os.environ[name] for name in config.env if name in os.environ},
        secrets=secrets_of(config.env, workplace.repo.files, share),
        sites=tool_identity.python_sites(path, shared),
    )


def secrets_in(workplace: Workplace, settings: Settings) -> dict[str, str]:
    """Return the secrets of everything that these settings let in."""
    return secrets_of(settings.texts("workspace", "env"), workplace.repo.files, settings.texts("workspace", "share"))


def shared_paths(workplace: Workplace, share: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the locations of shared files and directories. One that cannot be shared is refused before it is read."""
    for path in share:
        require_shareable(workplace.repo, path)
    return tuple(workplace.repo.files.below(path).location for path in share)


def secrets_of(names: tuple[str, ...], files: Root, shared: tuple[str, ...]) -> dict[str, str]:
    """Return values that must not be shown: variables that are passed through, and assignments in shared files."""
    found = {name: os.environ[name] for name in names if name in os.environ}
    for path in shared:
        content = files.read_inside(path, SECRET_FILE_BYTES + 1) or b""
        if len(content) <= SECRET_FILE_BYTES:
            for line in content.decode("utf-8", "replace").splitlines():
                name, separator, value = line.partition("=")
                if separator and value.strip(" \"'"):
                    found[name.removeprefix("export ").strip()] = value.strip(" \"'")
    return found


def check_results(verdict: Verdict) -> tuple[CheckResult, ...]:
    """Return the results as events and notes have them."""
    return tuple(CheckResult(r.name, r.status.value, r.exit_code, r.duration_ms) for r in verdict.results)


def outcome_of(verdict: Verdict) -> Outcome:
    """Return the outcome for a verdict: verified, red or flaky."""
    if verdict.green:
        return Outcome.VERIFIED
    in_the_way = {result.status for result in verdict.results if not result.quarantined} - {CheckStatus.PASS}
    return Outcome.FLAKY if in_the_way == {CheckStatus.FLAKY} else Outcome.RED


def summary(verdict: Verdict) -> str:
    """Return one line for people."""
    deciding = [result for result in verdict.results if not result.quarantined]
    passed = sum(result.status is CheckStatus.PASS for result in deciding)
    counts = f"{passed} of {len(deciding)} checks passed"
    others = [f"{result.name} is {result.status.value}" for result in deciding if result.status is not CheckStatus.PASS]
    return counts if not others else f"{counts}; {', '.join(others)}"
