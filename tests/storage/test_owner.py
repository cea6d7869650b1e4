"""Whether the owner of a session is alive: process id, start time, boot and host."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

from donewhen.storage.owner import Owner


def test_this_process_is_alive_and_its_identity_survives_storing() -> None:
    here = Owner.here()
    assert here.is_alive() and here.pid == os.getpid() and here.started > 0
    assert Owner.read(here.text()) == here
    assert Owner.read("") is None and Owner.read("{}") is None and Owner.read("no") is None


def test_a_reused_process_id_is_not_the_owner() -> None:
    assert not replace(Owner.here(), started=Owner.here().started - 1).is_alive()


def test_a_process_of_another_boot_is_gone() -> None:
    assert not replace(Owner.here(), boot="another").is_alive()


def test_a_process_of_another_host_cannot_be_seen_and_counts_as_living() -> None:
    assert replace(Owner.here(), host="elsewhere", boot="another", pid=1).is_alive()


def test_an_ended_process_is_gone_even_before_it_is_reaped() -> None:
    process = subprocess.Popen(["sh", "-c", "read line"], stdin=subprocess.PIPE)
    stat = Path(f"/proc/{process.pid}/stat").read_text()
    owner = replace(Owner.here(), pid=process.pid, started=int(stat.rpartition(")")[2].split()[19]))
    assert owner.is_alive()
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not owner.is_alive()
    process.communicate()
    assert not owner.is_alive()
