"""Receipts: written, kept, and judged again. `judge.receipt` defines what a receipt says.

A receipt is also kept in the state directory by its digest, and so are the objects that it names. It can be judged
again whatever happens to the user's branches.
"""

import datetime
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.errors import BadInput, MachineryBroke
from donewhen.events import Emit
from donewhen.judge import receipt
from donewhen.judge.contract import Contract
from donewhen.judge.receipt import Circumstances, Receipt
from donewhen.judge.verdict import Verdict
from donewhen.records import frozen
from donewhen.session.check import toolchain
from donewhen.session.check.judge_tree import TreeToJudge, judge_environment, judge_tree
from donewhen.session.settings import contract_file
from donewhen.session.settings.settings import FILE_NAME, check_content
from donewhen.session.workplace import Workplace
from donewhen.toml import BadToml, parse_toml
from donewhen.workspace.files import write_atomically
from donewhen.workspace.git.store import edit_tree
from donewhen.workspace.sandbox.level import Level

if TYPE_CHECKING:
    from donewhen.session.log.state import SessionState

DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


@frozen(kw_only=True)
class ReceiptCosts:
    duration_ms: int
    tokens: int = 0
    usd: float | None = 0.0

    @classmethod
    def of(cls, state: "SessionState", judged_secs: float = 0) -> "ReceiptCosts":
        """Return the costs of a session so far. `judged_secs` is time that its log does not count yet."""
        return cls(duration_ms=round((state.active_secs + judged_secs) * 1000), tokens=state.tokens, usd=state.usd)


async def receipt_text(
    workplace: Workplace,
    verdict: Verdict,
    contract: Contract,
    costs: ReceiptCosts,
    as_is: bool = False,
    amended: bool = False,
) -> str:
    """Return a receipt as text."""
    where = Circumstances(
        as_is=as_is,
        amended=amended,
        isolation=workplace.probe.level.value,
        path_transparent=workplace.probe.path_transparent,
        tools=await toolchain.versions(workplace, contract, judge_environment(workplace, contract)),
        duration_ms=costs.duration_ms,
        tokens=costs.tokens,
        usd=costs.usd,
    )
    return receipt.written(verdict, contract, where, datetime.datetime.now(datetime.UTC))


async def keep(workplace: Workplace, text: str) -> str:
    """Keep a receipt and what it names. Return its digest."""
    found = receipt.read(text.encode(), "the new receipt")
    name = found.digest.removeprefix("sha256:")
    kept = kept_file(workplace, found.digest)
    kept.parent.mkdir(exist_ok=True, mode=0o700)
    write_atomically(kept, text)
    await workplace.store.keep(f"receipts/{name[:16]}-base", found.content["base"])
    await workplace.store.keep(f"receipts/{name[:16]}-candidate", found.content["candidate"])
    return found.digest


def write(file: Path, text: str) -> None:
    try:
        write_atomically(file, text)
    except OSError as error:
        raise BadInput(f"{file}: the receipt cannot be written: {error.strerror}") from error


@frozen
class Verified:
    receipt: Receipt
    verdict: Verdict
    differences: tuple[str, ...]
    anchor: str
    """The commit that carries the receipt's digest; empty if there is none."""


async def of_commit(workplace: Workplace, named: str) -> Receipt:
    """Find a receipt by a commit that carries its digest."""
    try:
        commit = await workplace.store.resolve(named)
    except BadInput as error:
        raise BadInput(f"{named}: neither a receipt nor a commit") from error
    (content,) = await workplace.store.bare.contents([commit])
    lines = content.decode("utf-8", "replace").splitlines()
    stated = [line.partition(":")[2].strip() for line in lines if line.startswith(f"{receipt.TRAILER}:")]
    digest = next((one for one in reversed(stated) if DIGEST.fullmatch(one)), "")
    if not digest:
        raise BadInput(f"{named}: the commit carries no {receipt.TRAILER}")
    kept = kept_file(workplace, digest)
    if not kept.is_file():
        raise BadInput(f"{named}: its receipt {digest} is not on this machine; name the file that holds it")
    found = receipt.read(kept.read_bytes(), str(kept))
    if await workplace.store.tree_of(commit) != found.content["tree"]:
        raise BadInput(f"{named}: the commit's tree is not the one that its receipt was written for")
    return found


def kept_file(workplace: Workplace, digest: str) -> Path:
    """Return the path of a receipt that was written on this machine."""
    return workplace.trees.directory / "receipts" / f"{digest.removeprefix('sha256:')}.json"


def file_content(named: str) -> bytes | None:
    """Return the content of a file that may be a receipt; None if there is no such file."""
    if not os.path.isfile(named):
        return None
    try:
        with open(named, "rb") as stream:
            content = stream.read(receipt.LARGEST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{named}: {error.strerror}") from error
    if len(content) > receipt.LARGEST_BYTES:
        raise BadInput(f"{named}: too large for a receipt")
    return content


async def description(workplace: Workplace, found: Receipt, start: Path) -> list[str]:
    """Return what a person must know before believing a receipt, one line each.

    This includes by which commands it is judged, and whether the base commit states the same contract. Raise BadInput
    if its objects are not here.
    """
    for name, kind in (("base", "commit"), ("candidate", "tree")):
        if not await _is_here(workplace, found.content[name], kind):
            raise BadInput(f"the {name} {found.content[name]} of the receipt is not in this repository")
    lines = list(receipt.described(found))
    if foreign := await _foreign_contract(workplace, found, start):
        lines.append(f"contract is not the base's: {foreign}")
    if await _may_be_foreign(workplace, found, foreign):
        if not foreign:
            lines.append(f"base is not yours: commit {found.content['base'][:12]} is not in the history of HEAD")
        lines.append("it was not written here: its commands get none of the variables and services that you allow")
    return lines


async def _may_be_foreign(workplace: Workplace, found: Receipt, foreign: str) -> bool:
    """Return True if the commands of a receipt may be a stranger's: it is from elsewhere, and its contract may be too.

    The base may be a commit of a branch that was only fetched. Its contract can then be from anyone.
    """
    if kept_file(workplace, found.digest).is_file():
        return False
    ahead = await workplace.store.bare.run(
        "rev-list", "--max-count=1", found.content["base"], f"^{workplace.repo.head}"
    )
    return bool(foreign or ahead)


async def _foreign_contract(workplace: Workplace, found: Receipt, start: Path) -> str:
    """Return why the contract of a receipt is not that of its base commit; empty if it is."""
    base = str(found.content["base"])
    file, text = await _contract_file(workplace, base, start)
    if text is None:
        return f"commit {base[:12]} has no {FILE_NAME}"
    try:
        stated = contract_file.contract_in(
            workplace.settings.with_contract_of(file, check_content(file, parse_toml(text)))
        )
    except (BadToml, BadInput) as error:
        return f"{file} of commit {base[:12]} cannot be read: {error}"
    return "" if stated == found.contract else f"{file} of commit {base[:12]} has a different one"


async def _contract_file(workplace: Workplace, commit: str, start: Path) -> tuple[Path, bytes | None]:
    """Return the nearest donewhen.toml of a commit from a directory upward, as it is searched in a working tree."""
    tree, here = await workplace.store.tree_of(commit), start.resolve().relative_to(workplace.repo.root)
    for directory in (here, *here.parents):
        file = directory / FILE_NAME
        if (content := await edit_tree.file_in(workplace.store.bare, tree, str(file))) is not None:
            return file, content[1]
    return Path(FILE_NAME), None


async def verify(workplace: Workplace, found: Receipt, start: Path, emit: Emit) -> Verified:
    """Judge again what a receipt describes. Its objects must be here, which `description` ensures.

    Commands of a stranger, in a receipt that was not written here, run without what the user allows this repository.
    """
    content = found.content
    if await _may_be_foreign(workplace, found, await _foreign_contract(workplace, found, start)):
        if workplace.probe.level is Level.NONE:
            raise BadInput("the receipt was not written here: without a sandbox, its commands are not run")
        settings = workplace.settings
        for key in ("env", "reach", "sockets"):
            settings = settings.with_value("workspace", key, (), "verify")
        workplace = replace(workplace, settings=settings)
    base, candidate = str(content["base"]), str(content["candidate"])
    tree = TreeToJudge(base=base, candidate=candidate, as_is=bool(content["as_is"]), fresh=True)
    verdict = await judge_tree(workplace, found.contract, tree, emit)
    return Verified(found, verdict, tuple(receipt.differences(found, verdict)), await _anchor(workplace, found))


async def _is_here(workplace: Workplace, object_id: str, kind: str) -> bool:
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", object_id):
        return False
    try:
        return (await workplace.store.bare.run("cat-file", "-t", object_id)).strip() == kind.encode()
    except MachineryBroke:
        return False


async def _anchor(workplace: Workplace, found: Receipt) -> str:
    """Return a commit of the repository that carries the digest and has the judged tree; else empty."""
    asked = ("rev-list", "--all", "--fixed-strings", f"--grep={receipt.TRAILER}: {found.digest}")
    for commit in (await workplace.store.bare.run(*asked)).decode().split():
        if await workplace.store.tree_of(commit) == found.content["tree"]:
            return commit
    return ""
