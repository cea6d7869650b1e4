"""Verified work into the user's repository: exactly the judged tree, by compare-and-swap, and never twice."""

from dataclasses import replace
from pathlib import Path

import pytest
from landing_scenes import (
    BASE,
    DIGEST,
    SECOND_DIGEST,
    WORK,
    Rejudging,
    is_sound,
    plan_for,
    trailers,
    tree_with,
    workplace,
)

from donewhen.errors import BadInput
from donewhen.judge.verdict import CheckStatus, Edit, Verdict
from donewhen.session.conclude.land import (
    Landing,
    LandingRefused,
    discard,
    land_apply,
    land_branch,
    land_onto,
)
from donewhen.workspace.git.landing.refusals import Moved, NotLanded
from repositories import commit, contents, digest, git, repository, try_git, write

pytestmark = pytest.mark.anyio


def status(root: Path) -> list[str]:
    return try_git(root, "status", "--porcelain").stdout.decode().splitlines()


# -- a new branch --


async def test_the_branch_holds_exactly_the_judged_tree_on_top_of_its_parent(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    before = contents(root)
    async with workplace(root) as place:
        plan = await plan_for(place)
        landing = await land_branch(place, plan)
    assert landing.branch == "donewhen/s1"
    assert git(root, "rev-parse", "donewhen/s1", "donewhen/s1^{tree}", "donewhen/s1^").split() == [
        landing.commit, plan.tree, plan.parent,
    ]  # fmt: skip
    assert trailers(root, "donewhen/s1") == f"Donewhen-Session: s1\nDonewhen-Receipt: {DIGEST}"
    assert git(root, "branch", "--show-current") == "main"
    assert (contents(root), status(root)) == (before, [])
    is_sound(root)


async def test_landing_again_is_the_same_commit(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    async with workplace(root) as place:
        plan = await plan_for(place)
        first = await land_branch(place, plan)
        before = digest(root)
        assert await land_branch(place, plan) == first
    assert digest(root) == before


async def test_a_user_name_changed_between_two_landings_keeps_the_first_commit(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    async with workplace(root) as place:
        plan = await plan_for(place)
        first = await land_branch(place, plan)
    git(root, "config", "user.name", "Another")
    git(root, "config", "user.email", "another@example.invalid")
    async with workplace(root) as place:
        assert await land_branch(place, plan) == first
        assert await discard(place, "s1") == ""
    assert git(root, "branch", "--list", "donewhen/*") == ""


async def test_a_foreign_branch_of_that_name_is_never_overwritten(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    git(root, "branch", "donewhen/s1")
    async with workplace(root) as place:
        with pytest.raises(Moved, match="donewhen/s1 is at"):
            await land_branch(place, await plan_for(place))
    assert git(root, "rev-parse", "donewhen/s1") == git(root, "rev-parse", "main")


async def test_work_on_uncommitted_changes_lands_on_top_of_head(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    write(root, {"b.txt": "not committed\n"})
    async with workplace(root) as place:
        base = await place.store.snapshot()
        plan = replace(await plan_for(place), base=base, tree=await tree_with(place, WORK, base))
        landing = await land_apply(place, plan)
    assert git(root, "rev-list", "--parents", "-1", landing.commit).split()[1:] == [git(root, "rev-parse", "HEAD")]
    assert git(root, "show", f"{landing.commit}:b.txt") == "not committed"
    assert not landing.applied
    assert (root / "b.txt").read_text() == "not committed\n"


@pytest.mark.parametrize("how", ["detached", "unborn branch of the same name as a directory", "packed"])
async def test_a_branch_can_be_made_in_any_state_of_head_and_references(tmp_path: Path, how: str) -> None:
    root = repository(tmp_path / "r", BASE)
    if how == "detached":
        git(root, "checkout", "--quiet", "--detach")
    elif how == "packed":
        git(root, "gc", "--quiet")
    else:
        (root / ".git" / "refs" / "heads" / "donewhen" / "s1" / "empty").mkdir(parents=True)
    async with workplace(root) as place:
        plan = await plan_for(place)
        await land_branch(place, plan)
    assert git(root, "rev-parse", "donewhen/s1^{tree}") == plan.tree
    is_sound(root)


# -- the files of a clean checkout --


async def test_apply_puts_the_work_into_a_clean_checkout_as_staged_changes(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    async with workplace(root) as place:
        plan = await plan_for(place)
        landing = await land_apply(place, plan)
        assert await land_apply(place, plan) == landing
    assert landing.applied
    assert landing.note == ""
    assert status(root) == ["M  a.txt", "D  gone", "A  new/x"]
    assert git(root, "write-tree") == plan.tree
    git(root, "checkout", "--quiet", "donewhen/s1")
    assert status(root) == []
    is_sound(root)


async def test_apply_does_not_change_a_dirty_checkout_and_says_why(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    write(root, {"b.txt": "mine\n"})
    before = contents(root)
    async with workplace(root) as place:
        landing = await land_apply(place, await plan_for(place))
    assert not landing.applied
    assert landing.note == (
        "the files of the checkout were not changed (the checkout has uncommitted changes: b.txt); "
        "the work is on donewhen/s1"
    )
    assert contents(root) == before
    assert git(root, "rev-parse", "donewhen/s1") == landing.commit


async def test_apply_does_not_change_a_checkout_that_moved(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    async with workplace(root) as place:
        plan = await plan_for(place)
        write(root, {"b.txt": "next\n"})
        commit(root)
        landing = await land_apply(place, plan)
    assert "the files of HEAD are not those that the work started from" in landing.note
    assert status(root) == []
    assert git(root, "rev-parse", "donewhen/s1") == landing.commit


# -- another branch --


async def test_landing_onto_an_unmoved_branch_judges_nothing_again(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    git(root, "branch", "release")
    again = Rejudging()
    async with workplace(root) as place:
        plan = await plan_for(place)
        landing = await land_onto(place, plan, "release", again.judge, again.write_receipt)
        assert await land_onto(place, plan, "release", again.judge, again.write_receipt) == Landing(
            "release", git(root, "rev-parse", "release"), note="release has this work already"
        )
    assert isinstance(landing, Landing)
    assert (again.asked, again.receipts) == ([], 0)
    assert git(root, "rev-parse", "release^{tree}", "release^").split() == [plan.tree, plan.parent]
    assert trailers(root, "release") == f"Donewhen-Session: s1\nDonewhen-Receipt: {DIGEST}"
    assert status(root) == []
    is_sound(root)


async def test_landing_onto_a_moved_branch_judges_the_merged_tree_and_writes_its_own_receipt(
    tmp_path: Path,
) -> None:
    root = repository(tmp_path / "r", BASE)
    again = Rejudging()
    async with workplace(root) as place:
        plan = await plan_for(place)
        write(root, {"b.txt": "theirs\n"})
        theirs = commit(root)
        git(root, "checkout", "--quiet", "--detach")
        landing = await land_onto(place, plan, "main", again.judge, again.write_receipt)
    assert isinstance(landing, Landing)
    ((base, tree),) = again.asked
    assert base == theirs
    assert git(root, "rev-parse", "main", "main^{tree}", "main^").split() == [landing.commit, tree, theirs]
    assert [git(root, "show", f"main:{name}") for name in ("a.txt", "b.txt", "new/x")] == ["changed", "theirs", "x"]
    assert trailers(root, "main") == f"Donewhen-Session: s1\nDonewhen-Receipt: {SECOND_DIGEST}"
    is_sound(root)


async def test_landing_onto_a_rewritten_branch_brings_only_the_work(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    write(root, {"thrown away": "x\n"})
    commit(root)
    again = Rejudging()
    async with workplace(root) as place:
        plan = await plan_for(place)
        git(root, "reset", "--quiet", "--hard", "HEAD~1")
        landing = await land_onto(place, plan, "main", again.judge, again.write_receipt)
    assert isinstance(landing, Landing)
    assert landing.applied
    assert git(root, "ls-tree", "-r", "--name-only", "main").split() == ["a.txt", "b.txt", "new/x"]
    assert git(root, "rev-list", "--count", "main") == "2"
    assert status(root) == []


async def test_a_conflict_is_refused_with_its_paths_and_without_judging(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    again = Rejudging()
    async with workplace(root) as place:
        plan = await plan_for(place)
        write(root, {"a.txt": "theirs\n"})
        theirs = commit(root)
        refused = await land_onto(place, plan, "main", again.judge, again.write_receipt)
    assert refused == LandingRefused("the work and the branch changed the same lines: a.txt", ("a.txt",))
    assert again.asked == []
    assert git(root, "rev-parse", "main") == theirs
    assert status(root) == []


async def test_work_that_is_red_on_the_new_base_does_not_land(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    again = Rejudging(status=CheckStatus.FAIL)
    async with workplace(root) as place:
        plan = await plan_for(place)
        write(root, {"b.txt": "theirs\n"})
        theirs = commit(root)
        refused = await land_onto(place, plan, "main", again.judge, again.write_receipt)
    assert refused == LandingRefused(f"not green on top of main at {theirs[:12]}: tests")
    assert (git(root, "rev-parse", "main"), status(root), again.receipts) == (theirs, [], 0)


async def test_work_partly_reverted_by_the_new_base_does_not_land(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    async with workplace(root) as place:
        plan = await plan_for(place)
        again = Rejudging(taken_back=Edit("new/x", "added", "protected"), tree=plan.tree)
        write(root, {"b.txt": "theirs\n"})
        theirs = commit(root)
        refused = await land_onto(place, plan, "main", again.judge, again.write_receipt)
    assert refused == LandingRefused("the work changes paths that are protected on main: new/x", ("new/x",))
    assert git(root, "rev-parse", "main") == theirs


async def test_a_branch_that_moves_during_the_judgement_is_judged_again(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    git(root, "checkout", "--quiet", "--detach")
    again = Rejudging()

    async def judge_slowly(base: str, tree: str) -> Verdict:
        if len(again.asked) < 2:
            advance(root, f"{len(again.asked)}")
        return await again.judge(base, tree)

    async with workplace(root) as place:
        plan = await plan_for(place)
        advance(root, "first")
        landing = await land_onto(place, plan, "main", judge_slowly, again.write_receipt)
    assert isinstance(landing, Landing)
    assert len(again.asked) == 3
    assert git(root, "log", "--format=%s", "main").splitlines() == [
        "Change the files", "1", "0", "first", "the first commit",
    ]  # fmt: skip
    is_sound(root)


async def test_a_branch_that_keeps_moving_is_given_up_after_several_rounds(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    git(root, "checkout", "--quiet", "--detach")
    again = Rejudging()

    async def judge_slowly(base: str, tree: str) -> Verdict:
        advance(root, f"{len(again.asked)}")
        return await again.judge(base, tree)

    async with workplace(root) as place:
        plan = await plan_for(place)
        advance(root, "first")
        refused = await land_onto(place, plan, "main", judge_slowly, again.write_receipt)
    assert refused == LandingRefused("the branch main moved 5 times while the work was judged for it")
    assert len(again.asked) == 5


def advance(root: Path, message: str) -> None:
    """Another commit on `main`, which is not checked out."""
    blob = git(root, "hash-object", "-w", "--stdin", given=message.encode())
    entries = git(root, "ls-tree", "main") + f"\n100644 blob {blob}\tcount-{message}\n"
    tree = git(root, "mktree", given=entries.encode())
    git(root, "update-ref", "refs/heads/main", git(root, "commit-tree", "-m", message, "-p", "main", tree))


async def test_a_checkout_of_the_branch_is_updated_too(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    again = Rejudging()
    async with workplace(root) as place:
        plan = await plan_for(place)
        landing = await land_onto(place, plan, "main", again.judge, again.write_receipt)
    assert isinstance(landing, Landing)
    assert landing.applied
    assert (root / "a.txt").read_text() == "changed\n"
    assert (git(root, "rev-parse", "HEAD"), status(root)) == (landing.commit, [])
    assert git(root, "reflog", "show", "--format=%H %gs", "HEAD").splitlines()[0].endswith("donewhen: landed")
    is_sound(root)


@pytest.mark.parametrize("moved", [False, True])
async def test_a_dirty_checkout_on_the_branch_refuses_the_landing_before_anything_is_judged(
    tmp_path: Path, moved: bool
) -> None:
    root = repository(tmp_path / "r", BASE)
    again = Rejudging()
    async with workplace(root) as place:
        plan = await plan_for(place)
        if moved:
            write(root, {"theirs": "t\n"})
            commit(root)
        write(root, {"b.txt": "mine\n"})
        before = git(root, "rev-parse", "main"), contents(root)
        refused = await land_onto(place, plan, "main", again.judge, again.write_receipt)
    assert refused == LandingRefused("the checkout has uncommitted changes: b.txt")
    assert again.asked == []
    assert (git(root, "rev-parse", "main"), contents(root)) == before
    is_sound(root)


async def test_a_branch_checked_out_in_another_worktree_is_refused(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    git(root, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    again = Rejudging()
    async with workplace(root) as place:
        refused = await land_onto(place, await plan_for(place), "side", again.judge, again.write_receipt)
    assert refused == LandingRefused(f"the branch side is checked out in {tmp_path / 'linked'}")


async def test_a_branch_that_does_not_exist_is_bad_input(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    again = Rejudging()
    async with workplace(root) as place:
        plan = await plan_for(place)
        for name, line in (("nowhere/at/all", "is not a branch of"), ("a..b", "is not a valid branch name")):
            with pytest.raises(BadInput, match=line):
                await land_onto(place, plan, name, again.judge, again.write_receipt)
    assert not (root / ".git" / "refs" / "heads" / "nowhere").exists()


async def test_work_already_merged_by_the_user_is_not_landed_twice(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    again = Rejudging()
    async with workplace(root) as place:
        plan = await plan_for(place)
        await land_branch(place, plan)
        write(root, {"b.txt": "theirs\n"})
        commit(root)
        git(root, "merge", "--quiet", "-m", "merged", "donewhen/s1")
        merged = git(root, "rev-parse", "main")
        landing = await land_onto(place, plan, "main", again.judge, again.write_receipt)
    assert landing == Landing("main", git(root, "rev-parse", "donewhen/s1"), note="main has this work already")
    assert git(root, "rev-parse", "main") == merged


async def test_work_without_new_changes_is_refused_as_nothing_to_land(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    again = Rejudging()
    async with workplace(root) as place:
        plan = await plan_for(place)
        write(root, {"a.txt": "changed\n", "new/x": "x\n"})
        (root / "gone").unlink()
        commit(root)
        refused = await land_onto(place, plan, "main", again.judge, again.write_receipt)
    assert refused == LandingRefused("main has the same files already; there is nothing to land")


# -- discard --


async def test_discard_removes_the_branch_and_releases_the_objects(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    async with workplace(root) as place:
        await land_branch(place, await plan_for(place))
        await place.store.keep("sessions/s1/base", place.repo.head)
        await place.store.keep("sessions/s10/base", place.repo.head)
        assert await discard(place, "s1") == ""
        assert await discard(place, "s1") == ""
        pins = (await place.store.bare.run("for-each-ref", "--format=%(refname)", "refs/donewhen")).decode().split()
    assert pins == ["refs/donewhen/sessions/s10/base"]
    assert git(root, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    is_sound(root)


async def test_discard_keeps_a_branch_with_the_user_s_commits_and_says_so(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    async with workplace(root) as place:
        await land_branch(place, await plan_for(place))
        git(root, "checkout", "--quiet", "donewhen/s1")
        assert "is checked out in" in await discard(place, "s1")
    async with workplace(root) as place:
        git(root, "branch", "--quiet", "donewhen/s2")
        assert "it may not belong to this session" in await discard(place, "s2")
        await land_branch(place, replace(await plan_for(place), session="s3"))
        git(root, "update-ref", "refs/heads/donewhen/s3", git(root, "rev-parse", "main"))
        assert "which was not expected" in await discard(place, "s3")
    assert git(root, "branch", "--list", "--format=%(refname:short)", "donewhen/*").split() == [
        "donewhen/s1", "donewhen/s2", "donewhen/s3",
    ]  # fmt: skip


async def test_a_branch_named_donewhen_is_one_clear_line(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", BASE)
    git(root, "branch", "donewhen")
    async with workplace(root) as place:
        with pytest.raises(NotLanded, match="donewhen is a branch, so donewhen/s1 cannot be one: rename it"):
            await land_branch(place, await plan_for(place))
