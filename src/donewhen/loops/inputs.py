"""Inputs of a loop round: commands that the runtime runs in a sandbox, and readings. Their text is data for the maker.

An input that fails ends the round: failing to look is not the same as finding nothing.
"""

import os

from donewhen.errors import DonewhenError
from donewhen.loops.hidden_secrets import text_without
from donewhen.loops.notes import InputOutput
from donewhen.loops.spec import LoopInput, LoopSpec
from donewhen.session.workplace import Workplace
from donewhen.workspace.process.command import End
from donewhen.workspace.sandbox.config import SandboxConfig
from donewhen.workspace.sandbox.sandbox import ShellCommand, TreeSandbox

KEEP_BYTES = 8192
"""Bytes that are kept from the beginning of an output, and again from its end."""
MOST_IDS = 200


class InputFailed(DonewhenError):
    """An input could not be read; the message names it and says why."""


async def read_inputs(workplace: Workplace, base: str, spec: LoopSpec) -> tuple[InputOutput, ...]:
    """Read the inputs one after another. Raise `InputFailed` at the first failure."""
    found: list[InputOutput] = []
    for one in spec.inputs:
        text = await (_reading(workplace, one, spec) if one.read else _output(workplace, base, one))
        found.append(InputOutput(name=one.name, text=text, failing=_failing_ids(text)))
    return tuple(found)


def has_nothing(spec: LoopSpec, outputs: tuple[InputOutput, ...]) -> bool:
    """Return True if a loop has readings only, and all of them are empty: then there is nothing to do.

    What the emptiness of a command's output means is not known.
    """
    return bool(spec.inputs) and all(one.read for one in spec.inputs) and not any(one.text for one in outputs)


async def _reading(workplace: Workplace, one: LoopInput, spec: LoopSpec) -> str:
    from donewhen.loops.readings.read import read  # loaded on use: most inputs are commands

    assert one.read is not None  # it is no command
    try:
        return await read(one.read, workplace, spec)
    except DonewhenError as error:
        raise InputFailed(f"input '{one.name}': {error}") from error


async def _output(workplace: Workplace, base: str, one: LoopInput) -> str:
    """Return what a command prints on a throw-away copy of the base."""
    missing = [name for name in one.env if name not in os.environ]
    if missing:
        raise InputFailed(f"input '{one.name}': the variable {missing[0]} is not set")
    async with workplace.tree("throwaway", base) as tree:
        config = SandboxConfig(network=one.network, env=one.env)
        sandbox = TreeSandbox(workplace.launcher, workplace.probe, tree.sandbox_tree, config)
        command = ShellCommand(text=one.command, timeout_secs=one.timeout_secs, keep_bytes=KEEP_BYTES)
        finished = await sandbox.run(command)
    text = text_without({name: os.environ[name] for name in one.env}, finished.stdout)
    if not finished.ok:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        why = f"took longer than {one.timeout_secs:g} s" if finished.end is End.TIMED_OUT else finished.reason
        last = f": {lines[-1][:200]}" if lines else ""
        raise InputFailed(f"input '{one.name}' {why or f'exited with {finished.exit_code}'}{last}")
    return text


def _failing_ids(text: str) -> tuple[str, ...]:
    from donewhen.memory.signature import signature_of  # loaded on use: it loads the readers

    return tuple(sorted(set(signature_of(text.encode("utf-8", "replace")).ids)))[:MOST_IDS]
