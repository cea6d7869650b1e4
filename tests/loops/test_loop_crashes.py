"""Kill -9 before, inside and after every write of a loop round, and around every effect of its action, also during
recovery and during a decision: nothing runs twice, nothing is done twice, and nothing is lost.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from crash_scene import CHECKER, DIED_AGAIN, KILLED, MAKER, RESUME, RUN, CrashScene, crash_program, differences
from loop_scene import LoopScene, Step, loop

from forge_server import ForgeServer, running_forge
from repositories import git
from tiers import EVERYTHING

COMMENTER: list[Step] = [{"text": "COMMENT ON #1\nThe cause is the sign in add()."}]
INPUT = [{"name": "state", "command": "cat calc.py"}]
MOST_DECISIONS = 3
BEGUN, DONE = "after log loop.action_begun", "before log loop.action_done"


@dataclass(frozen=True)
class Kind:
    """A loop, and what a person decides about its work."""

    keys: Mapping[str, Any] = field(default_factory=dict[str, Any])
    verb: str = ""
    maker: Sequence[Step] = field(default_factory=lambda: MAKER)
    begin: str = ""
    """The first moment at which it differs from the round of another kind; empty for the first moment of all."""
    sample: tuple[str, ...] = ("after log gate_decided",)
    """The moments in `make test`."""


REPORT = {"level": "report", "action": "report", "deliver": ["file:reports.txt"], "inputs": INPUT}
CLOSED = "before log round_finished state_changed session_finished"
ROUNDS = {
    "assisted": Kind(sample=("after a session", "before log landed gate_opened round_finished state_changed")),
    "report": Kind(REPORT, begin="after log loop/checker#1.turn model_turn spend", sample=(CLOSED, "after report")),
    "unattended": Kind(
        {"level": "unattended", "allow": ["branch"]}, begin="before log landing diff_ready", sample=("after branch",)
    ),
}
DECISIONS = {
    "branch": Kind(verb="approve"),
    "patch": Kind({"action": "apply-patch"}, "approve", sample=("after files",)),
    "command": Kind({"action": "command:echo ran >> PLACE/done.txt"}, "approve"),
    "pull": Kind({"action": "open-pr"}, "approve", sample=("after push",)),
    "comment": Kind({"action": "comment", "inputs": INPUT}, "approve", COMMENTER, sample=("after request",)),
    "denied": Kind(verb="deny", sample=("after no branch",)),
}
KINDS = {**ROUNDS, **DECISIONS}
"""The names are those of the loops."""


class World:
    """One repository with a loop of every kind, and a forge."""

    def __init__(self, place: Path, server: ForgeServer) -> None:
        self.place = place
        self.server = server
        self.number = server.issue("add() is wrong")
        env = {"HOME": place, "XDG_STATE_HOME": place / "state", "XDG_CONFIG_HOME": place / "config"}
        self.env = {name: str(path) for name, path in {**env, "XDG_CACHE_HOME": place / "cache"}.items()}
        self.program = crash_program()
        self.base: Path | None = None

    def scene(self, kind: str, without: str = "") -> CrashScene:
        """Return the scene as it was before the first round of any kind."""
        if self.base is None:
            self._prepare()
        assert self.base is not None
        scene = self._scene
        scene.restore(self.base)
        scene.name, scene.without = kind, without
        scene.scene.script(KINDS[kind].maker, CHECKER)
        return scene

    def _prepare(self) -> None:
        loops = [
            loop(name, **{key: self._placed(value) for key, value in kind.keys.items()}) for name, kind in KINDS.items()
        ]
        more = f'[forge]\nurl = "{self.server.url}"\ntoken_env = "FORGE_TOKEN"\n'
        made = LoopScene.made(self.place / "work", loop("rehearsal", **ROUNDS["unattended"].keys), *loops, more=more)
        made.env["FORGE_TOKEN"] = self.server.token
        git(made.root, "remote", "add", "origin", self.server.git_url)
        git(self.server.bare, "fetch", "--quiet", str(made.root), "+HEAD:refs/heads/main")
        self._scene = CrashScene(
            self.place, made, self.program, outside=self._outside, forget_outside=self._forget_outside
        )
        made.script(MAKER, CHECKER)
        self._scene.call(*RUN, "rehearsal")  # builds what all later rounds share
        for branch in self._branches(made.root):
            git(made.root, "update-ref", "-d", branch)
        self.base = self._scene.keep()

    def _placed(self, value: Any) -> Any:
        return value.replace("PLACE", str(self.place)) if isinstance(value, str) else value

    def _branches(self, repository: Path) -> list[str]:
        return git(repository, "for-each-ref", "--format=%(refname)", "refs/heads/donewhen").split()

    def _outside(self) -> Any:
        reports = self._scene.scene.root / "reports.txt"
        items = self.server.world.items
        return {
            "commands": self.commands(),
            "reports": reports.read_text() if reports.exists() else "",
            "pull requests": [item.title for item in items.values() if item.branch],
            "pushed": len(self._branches(self.server.bare)),
            "comments": len(items[self.number].comments),
        }

    def commands(self) -> int:
        """Return how often the command of the action ran."""
        done = self.place / "done.txt"
        return len(done.read_text().splitlines()) if done.exists() else 0

    def _forget_outside(self) -> None:
        (self.place / "done.txt").unlink(missing_ok=True)
        items = self.server.world.items
        for number in [number for number in items if number != self.number]:
            del items[number]
        items[self.number].comments.clear()
        for branch in self._branches(self.server.bare):
            git(self.server.bare, "update-ref", "-d", branch)


@pytest.fixture(scope="module")
def made_world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    place = tmp_path_factory.mktemp("crashes")
    with running_forge(place / "forge") as server:
        world = World(place, server)
        yield world
        world.program.end()


@pytest.fixture
def world(made_world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    for name, path in made_world.env.items():
        Path(path).mkdir(exist_ok=True)
        monkeypatch.setenv(name, path)
    return made_world


def points_of(kind: Kind, moments: Sequence[str]) -> list[int]:
    """Return the numbers of the moments to be tested."""
    if not EVERYTHING:
        return [moments.index(moment) + 1 for moment in kind.sample]
    return list(range(moments.index(kind.begin or moments[0]) + 1, len(moments) + 1))


# -- rounds --


def killed_in_round(scene: CrashScene, point: int) -> Mapping[str, Any]:
    """Kill a round at a moment, recover it as a person would, and return what there is then."""
    killed, _ = scene.call(*RUN, scene.name, die_at=point)
    assert killed.code == KILLED, killed
    session = next(iter(scene.sessions()), "")
    if point % DIED_AGAIN == 0:
        scene.recover(point + 1, session, die_at=1 + point % 9)
    scene.recover(point // DIED_AGAIN, session)
    scene.run_until_nothing_is_new()
    return scene.witness()


LONG, PARTS = "assisted", 4 if EVERYTHING else 1
"""The round with the most moments, and in how many tests they are tested: these run side by side."""


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("kind", "part"), [(kind, part) for kind in ROUNDS for part in range(PARTS if kind == LONG else 1)]
)
def test_a_round_killed_at_any_moment_ends_as_if_it_had_not_been(
    world: World, kind: str, part: int, show_table: Callable[[str], None]
) -> None:
    scene = world.scene(kind)
    before = scene.keep()
    _, moments = scene.call(*RUN, kind)
    scene.run_until_nothing_is_new()
    expected = scene.witness()
    assert [one["round_finished"] for one in expected["sessions"]] == [1]
    all_points, found = points_of(KINDS[kind], moments), list[str]()
    points = all_points[part::PARTS] if kind == LONG else all_points
    for point in points:
        scene.restore(before)
        found += [
            f"{point} {moments[point - 1]}: {one}" for one in differences(killed_in_round(scene, point), expected)
        ]
    assert found == []
    show_table(f"crash points of a loop round, {kind}: {len(points)} killed and recovered")


# -- decisions --


def escalated(world: World, kind: str, without: str = "") -> tuple[CrashScene, str]:
    """Return a scene whose round waits for a person, and its session."""
    scene = world.scene(kind, without)
    scene.call(*RUN, kind)
    (session,) = scene.sessions()
    assert scene.waits(session)
    return scene, session


def settle(scene: CrashScene, session: str, verb: str) -> None:
    """Do what the inbox asks for until the session no longer waits."""
    for _ in range(MOST_DECISIONS):
        if not scene.waits(session):
            return
        scene.call(verb, session)
    raise AssertionError("the inbox does not get empty")


def killed_in_decision(scene: CrashScene, session: str, verb: str, point: int) -> None:
    """Kill a decision at a moment. Recover it as a person would: by the same decision, or by `resume`."""
    killed, _ = scene.call(verb, session, die_at=point)
    assert killed.code == KILLED, killed
    if point % DIED_AGAIN == 0:
        scene.call(*RESUME, session, die_at=1 + point % 5)
    scene.call(*((verb,) if point % 2 else RESUME), session)


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", list(DECISIONS))
def test_a_decision_killed_at_any_moment_has_one_effect(
    world: World, kind: str, show_table: Callable[[str], None]
) -> None:
    (scene, session), verb = escalated(world, kind), DECISIONS[kind].verb
    before = scene.keep()
    _, moments = scene.call(verb, session)
    scene.run_until_nothing_is_new()
    expected = scene.witness()
    unknown = range(moments.index(BEGUN) + 1, moments.index(DONE) + 2) if kind == "command" else ()
    points, found = [one for one in points_of(KINDS[kind], moments) if one not in unknown], list[str]()
    for point in points:
        scene.restore(before)
        killed_in_decision(scene, session, verb, point)
        settle(scene, session, verb)
        scene.run_until_nothing_is_new()
        found += [f"{point} {moments[point - 1]}: {one}" for one in differences(scene.witness(), expected)]
    assert found == []
    show_table(f"crash points of a decision, {kind}: {len(points)} killed and recovered")


def test_a_command_whose_result_is_unknown_waits_for_a_person_again(world: World) -> None:
    scene, session = escalated(world, "command")
    before = scene.keep()
    _, moments = scene.call("approve", session)
    scene.run_until_nothing_is_new()
    expected = scene.witness()
    for moment, ran in ((BEGUN, 0), (DONE, 1)):
        scene.restore(before)
        killed_in_decision(scene, session, "approve", moments.index(moment) + 1)
        assert (world.commands(), scene.waits(session)) == (ran, True)
        scene.call(*RESUME, session)
        assert (world.commands(), scene.waits(session)) == (ran, True)
        settle(scene, session, "approve")
        assert (world.commands(), scene.waits(session)) == (ran + 1, False)
        scene.run_until_nothing_is_new()
        found = scene.witness()
        (ends,) = [one["ends"] for one in found["sessions"]]
        assert [outcome for outcome, *_ in ends] == ["escalated", "escalated", "proceeded"]
        assert differences({**found, **{part: expected[part] for part in ("sessions", "outside")}}, expected) == []


# -- controls --


def kill_before_the_receipt(scene: CrashScene, session: str) -> None:
    """Kill an approval after its action and before the receipt of it."""
    before = scene.keep()
    _, moments = scene.call("approve", session)
    scene.restore(before)
    assert scene.call("approve", session, die_at=moments.index(DONE) + 1)[0].code == KILLED


def test_without_the_note_of_a_begun_action_a_command_would_run_twice(world: World) -> None:
    scene, session = escalated(world, "command", without="begun")
    kill_before_the_receipt(scene, session)
    scene.call(*RESUME, session)
    assert (world.commands(), scene.waits(session)) == (2, False)


def test_without_a_look_at_the_forge_there_would_be_two_comments(world: World) -> None:
    scene, session = escalated(world, "comment", without="look")
    kill_before_the_receipt(scene, session)
    scene.call(*RESUME, session)
    assert len(world.server.item(world.number).comments) == 2


def test_if_a_gate_were_opened_before_its_branch_is_kept_a_killed_round_would_lose_its_work(world: World) -> None:
    scene = world.scene("assisted", without="branch")
    before = scene.keep()
    _, moments = scene.call(*RUN, "assisted")
    scene.run_until_nothing_is_new()
    expected = scene.witness()
    scene.restore(before)
    found = killed_in_round(scene, moments.index("after log gate_opened round_finished state_changed") + 1)
    assert found["branches"] != expected["branches"]


def test_without_the_end_of_a_process_being_noticed_its_loop_would_be_stuck(world: World) -> None:
    scene = world.scene("assisted", without="take over")
    assert scene.call(*RUN, "assisted", die_at=40)[0].code == KILLED
    with pytest.raises(AssertionError, match="a round of this loop is running"):
        scene.run_until_nothing_is_new()
