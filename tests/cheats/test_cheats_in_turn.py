"""Cheats that need two candidates: files left by one must not help another."""

import pytest
from cheat import Cheat
from cheat_catalogue import OUTSIDE
from cheat_judge import verdict_on
from cheat_scenes import SETUP
from cheat_workspace import CheatWorkspace, put

pytestmark = pytest.mark.anyio
LEAVING = [cheat for cheat in OUTSIDE if cheat.scene is SETUP]


@pytest.mark.parametrize("cheat", LEAVING, ids=lambda cheat: cheat.label)
async def test_files_left_by_one_candidate_s_setup_do_not_help_another_candidate(
    cheat: Cheat, workspace: CheatWorkspace
) -> None:
    await verdict_on(workspace.cheated(cheat))
    tree = workspace.fresh(SETUP)
    put(tree, {"requirements.lock": cheat.write["requirements.lock"]})
    assert not (await verdict_on(tree)).accepted, "nothing but the lock file was changed"
