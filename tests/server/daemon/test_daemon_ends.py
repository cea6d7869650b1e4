"""Starting and stopping a daemon: one at a time, nothing lost, nothing of others touched."""

import os
import signal
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from donewhen.server.daemon import MOST_RESTARTS
from program import donewhen
from runs.scenes import RIGHT, scene, script
from server.daemon_program import LISTENS, Daemon, eventually, has_ended, serving, started
from server.daemon_scenes import STUCK, start, types, wait_for_event


def rescript(repo: Path, steps: object) -> None:
    """Change the steps of a session's model: those that were not made yet count."""
    script(repo.parent / f"{repo.name}.json", steps)


# -- starting --


@pytest.mark.sample(1)
@pytest.mark.parametrize("count", [4, 20])
def test_of_daemons_that_start_at_once_exactly_one_serves(count: int) -> None:
    with ExitStack() as stack:
        daemons = [stack.enter_context(started()) for _ in range(count)]

        def refused() -> list[Daemon]:
            return [one for one in daemons if "a daemon is running already" in one.log]

        eventually(lambda: len(refused()) == count - 1)
        (serves,) = [one for one in daemons if one not in refused()]
        serves.wait_for_line(LISTENS)
        for one in refused():
            assert one.wait() == 2
            assert one.log == f"donewhen: a daemon is running already: process {serves.pid}\n"
            one.nothing_left()
        with serves.client() as client:
            assert client.ask("session.list") == []
        assert serves.stop() == 0
        serves.nothing_left()


def state() -> Path:
    return Path(os.environ["XDG_STATE_HOME"]) / "donewhen"


def test_a_stale_socket_is_replaced(home: Path) -> None:
    (state() / "daemon").mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(state() / "daemon" / "rpc.sock"))
    with serving() as daemon, daemon.client() as client:
        assert client.ask("session.list") == []
        assert daemon.socket.stat().st_mode & 0o777 == 0o600
        assert daemon.socket.parent.stat().st_mode & 0o777 == 0o700
    assert not daemon.socket.exists()


def test_a_socket_path_that_is_a_directory_is_refused_in_one_line(home: Path) -> None:
    (state() / "daemon" / "rpc.sock").mkdir(parents=True, mode=0o700)
    with started() as daemon:
        assert daemon.wait() == 2
        (line,) = daemon.log.splitlines()
        assert line.startswith("donewhen: ")
        assert "rpc.sock" in line
        daemon.nothing_left()


@pytest.mark.parametrize("name", ["rpc.sock", "lock"])
def test_a_link_in_the_place_of_a_file_of_the_daemon_leads_nowhere(home: Path, tmp_path: Path, name: str) -> None:
    (state() / "daemon").mkdir(parents=True, mode=0o700)
    precious = tmp_path / "precious"
    precious.write_text("precious\n")
    (state() / "daemon" / name).symlink_to(precious)
    with started() as daemon:
        if name == "lock":
            assert daemon.wait() == 2
            assert len(daemon.log.splitlines()) == 1
        else:
            daemon.wait_for_line(LISTENS)
            assert daemon.stop() == 0
    assert precious.read_text() == "precious\n"


@pytest.mark.parametrize("place", ["", "daemon"])
def test_a_state_directory_that_is_a_link_is_refused(home: Path, tmp_path: Path, place: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (state() / place).parent.mkdir(parents=True, exist_ok=True)
    (state() / place).symlink_to(elsewhere)
    with started() as daemon:
        assert daemon.wait() == 2
        assert "is not a directory of this user" in daemon.log
        assert len(daemon.log.splitlines()) == 1
    assert not list(elsewhere.iterdir())


def test_a_client_of_another_version_works_alone_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = scene(tmp_path / "repo")
    older = tmp_path / "older"
    older.mkdir()
    (older / "sitecustomize.py").write_text("import donewhen\ndonewhen.__version__ = '0.0.1'\n")
    with serving(env={"PYTHONPATH": str(older)}):
        ran = donewhen("run", "x", "--model", script(tmp_path / "s.json", RIGHT), cwd=repo)
        assert ran.code == 0
        (note,) = ran.err.splitlines()
        assert note.startswith("note: the daemon has version 0.0.1 and this is ")
        assert note.endswith("it works without; restart it")


# -- stopping --


def test_sigterm_waits_for_what_is_about_to_end(tmp_path: Path) -> None:
    steps = [{**RIGHT[0], "delay": 1.0}, RIGHT[1]]
    with serving() as daemon:
        with daemon.client() as client:
            id = start(client, scene(tmp_path / "repo"), steps)
            client.ask("session.subscribe", id=id, from_seq=1)
            wait_for_event(client, "iteration_started")
            daemon.signal(signal.SIGTERM)
            daemon.wait_for_line("stopping: waiting up to 10 s for 1 sessions")
            with daemon.client() as other:
                assert other.refused("session.start", intent="x", repo=str(tmp_path)).kind == "stopping"
            _, status = client.until_status(has_ended)
            assert status["outcome"] == "verified"
        assert daemon.wait() == 0
        assert daemon.log.splitlines()[-1] == "stopped"


@pytest.mark.parametrize(
    "signals", [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT,), (signal.SIGINT, signal.SIGTERM, signal.SIGINT)]
)
@pytest.mark.sample(2)
def test_a_stop_at_once_loses_nothing(signals: tuple[signal.Signals, ...], tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    with serving() as daemon:
        with daemon.client() as client:
            id = start(client, repo, STUCK)
            client.ask("session.subscribe", id=id, from_seq=1)
            wait_for_event(client, "iteration_started")
        for one in signals:
            daemon.signal(one)
            daemon.wait_for_line("stop")
        assert daemon.wait() == 0
        assert daemon.log.splitlines()[-1] == f"stopped; the next daemon goes on with: {id}"
        daemon.nothing_left()
    rescript(repo, RIGHT)
    with serving() as daemon, daemon.client() as client:
        _, status = client.follow(id)
        assert status["outcome"] == "verified"
        assert f"session {id} goes on: it was interrupted" in daemon.log


def test_a_session_that_dies_again_and_again_is_left_to_a_person(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo", {"donewhen.toml": '[[check]]\nname = "done"\ncommand = "sleep 3600"\n'})
    with serving() as daemon:
        with daemon.client() as client:
            id = start(client, repo)
            client.ask("session.subscribe", id=id, from_seq=1)
            wait_for_event(client, "check_started")
        daemon.signal(signal.SIGINT)
        daemon.wait()
    deaths = 0
    for _ in range(MOST_RESTARTS + 2):
        with serving() as daemon:
            line = daemon.wait_for_line(f"session {id}")
            if "was interrupted;" in line:
                assert line.endswith(f"died before anything was done; continue with: donewhen resume {id}")
                break
            daemon.wait_for_line("goes on")
            os.kill(daemon.owner(id), signal.SIGKILL)
            deaths += 1
            daemon.signal(signal.SIGINT)
            daemon.wait()
    assert deaths == MOST_RESTARTS
    assert donewhen("cancel", id, cwd=repo).code == 0


# -- places --


def test_a_session_without_a_place_waits_without_using_its_time(tmp_path: Path) -> None:
    with serving("--places", "1") as daemon, daemon.client() as client, daemon.client() as other:
        first = start(client, scene(tmp_path / "first"), STUCK)
        client.ask("session.subscribe", id=first, from_seq=1)
        wait_for_event(client, "iteration_started")
        waits = start(other, scene(tmp_path / "waits"), max_minutes=60)
        gone = start(other, scene(tmp_path / "gone"))
        for id in (waits, gone):
            known = other.ask("session.get", id=id)
            assert (known["state"], known["live"], known["active_secs"]) == ("created", True, 0.0)
        assert other.ask("session.cancel", id=gone)["line"] == "cancelled"
        assert other.follow(gone)[1]["outcome"] == "cancelled"
        client.ask("session.cancel", id=first)
        assert other.follow(waits)[1]["outcome"] == "verified"


def test_the_time_without_a_place_does_not_count(tmp_path: Path) -> None:
    with serving("--places", "1") as daemon, daemon.client() as client, daemon.client() as other:
        first = start(client, scene(tmp_path / "first"), [{**RIGHT[0], "delay": 3.0}, RIGHT[1]])
        waits = start(other, scene(tmp_path / "waits"))
        assert client.follow(first)[1]["outcome"] == "verified"
        assert other.follow(waits)[1]["outcome"] == "verified"
        long, short = (other.ask("session.get", id=id)["active_secs"] for id in (first, waits))
        assert short < long - 1


def test_what_waits_for_a_place_goes_on_after_kill_9(tmp_path: Path) -> None:
    repo = scene(tmp_path / "first")
    with started("--places", "1") as daemon:
        daemon.wait_for_line(LISTENS)
        with daemon.client() as client:
            first, waits = start(client, repo, STUCK), start(client, scene(tmp_path / "waits"))
            client.ask("session.subscribe", id=first, from_seq=1)
            wait_for_event(client, "iteration_started")
            assert client.ask("session.get", id=waits)["state"] == "created"
        daemon.kill()
        eventually(lambda: len(daemon.left()) > 0)
        with serving("--places", "1") as second, second.client() as client:
            assert client.follow(waits)[1]["outcome"] == "verified"
            assert client.ask("session.cancel", id=first)["line"] == "cancelled"
        daemon.nothing_left()


@pytest.mark.sample(1)
@pytest.mark.parametrize("clients", [3, 10])
def test_of_many_that_resume_at_once_exactly_one_works(tmp_path: Path, clients: int) -> None:
    repo = scene(tmp_path / "repo")
    with serving() as daemon, ExitStack() as stack:
        client = stack.enter_context(daemon.client())
        id = start(client, repo, STUCK)
        client.ask("session.subscribe", id=id, from_seq=1)
        wait_for_event(client, "iteration_started")
        os.kill(daemon.owner(id), signal.SIGKILL)
        client.until_status(lambda one: not one["live"])
        rescript(repo, RIGHT)
        others = [stack.enter_context(daemon.client()) for _ in range(clients)]
        for one in others:
            one.begin("session.resume", id=id)
        answers = [one.response() for one in others]
        lost = [one["error"]["data"]["kind"] for one in answers if "error" in one]
        assert (len(lost), set(lost)) == (clients - 1, {"owned"})
        more, status = client.until_status(has_ended)
        assert (status["outcome"], types(more).count("session_finished")) == ("verified", 1)
