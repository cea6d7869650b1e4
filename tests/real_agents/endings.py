"""How an agent ends that is stopped during its work: with everything that it started, including daemons.

The control is the same program without our sandbox: its process group is killed, and the survivors are counted.
"""

import os
from pathlib import Path

from real_agents.outside import killed_as_a_group
from real_agents.processes import Deaths, confined, deaths, marked, waited
from real_agents.scenery import Real, report, stage
from wire_server import Says

FOR_EVER = "import time; time.sleep(5000)"


def is_cancelled(agent: Real, repo: Path, home: Path) -> str:
    """By an interrupt, during a command that never ends, with a daemon in a separate session."""
    daemon, hanging = marks = [_mark("daemon"), _mark("hanging")]
    with stage(agent, repo, *_script(agent, daemon, hanging)) as here, here.running() as events:
        next(iter(events))
        assert waited(lambda: all(marked(one) for one in marks)), "the commands were not started"
        inside, daemons = confined(events.pid), marked(daemon)
        assert {pid for one in marks for pid in marked(one)} <= set(inside), "the watch is on all of them"
        seen = deaths(inside, events.interrupt)
        *_, last = events
        assert (events.code, last["outcome"]) == (130, "cancelled")
        assert not seen.survivors
        assert not [pid for one in marks for pid in marked(one)]
        assert len(here.server.received) == 2, "nothing is asked of the model any more"
    ours = f"{dead(seen)}, the daemon in {seen.last(daemons):.3f} s"
    return f"cancel: {ours} | without our walls, after killpg: {_control(agent, repo.with_name('outside'), home)}"


def leaves_no_daemon(agent: Real, repo: Path, home: Path) -> str:
    """A normal end."""
    mark = _mark("daemon")
    acts = [agent.runs(_daemon(mark)), agent.writes(repo / "answer.txt"), agent.says()]
    with stage(agent, repo, *acts) as here:
        run = here.run()
        assert (run.code, run.last.get("outcome")) == (0, "verified"), report(run, here)
        assert here.landed(run, "up.txt") == "up", "it was there"
        assert not marked(mark)
    return ""


def _control(agent: Real, repo: Path, home: Path) -> str:
    if not agent.terms.stream:
        return "see cli"
    daemon, hanging = _mark("daemon"), _mark("hanging")
    survived = killed_as_a_group(agent, repo, home, [daemon, hanging], *_script(agent, daemon, hanging))
    assert survived[daemon], "a daemon that dies with the group would prove nothing"
    return f"survivors {sum(survived.values())} (command {survived[hanging]}, daemon {survived[daemon]})"


def dead(seen: Deaths) -> str:
    return f"survivors {len(seen.survivors)}, {len(seen.secs)} processes dead in {seen.last():.3f} s"


def _script(agent: Real, daemon: str, hanging: str) -> list[Says]:
    return [agent.runs(_daemon(daemon)), agent.runs(f"python3 -c '{FOR_EVER}' {hanging}"), agent.says()]


def _daemon(mark: str) -> str:
    forks = f"""setsid -f sh -c 'echo up > up.txt; exec python3 -c "{FOR_EVER}" {mark}'"""
    return f"{forks} >/dev/null 2>&1; until test -s up.txt; do sleep 0.05; done; echo started"


def _mark(name: str) -> str:
    return f"{name}-{os.urandom(8).hex()}"
