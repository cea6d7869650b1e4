"""Nothing outside a root is read or written, with any links, `..`, mounts and races below it.

Every test runs twice: with the kernel's own call, and with the component-by-component fallback. The control arms do
the same with plain path joining, and escape.
"""

import contextlib
import errno
import itertools
import os
import random
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from donewhen.workspace import beneath
from donewhen.workspace.beneath import LeavesRoot, Root, pin
from needs import leave_out, needs
from tiers import examples
from workspace.rooted_trees import NAMES, SECRET, attempts, plant, safely, two_places


@pytest.fixture(params=["by the kernel", "step by step"], autouse=True)
def resolver(request: pytest.FixtureRequest) -> Generator[None]:
    with resolving(kernel=request.param == "by the kernel"):
        yield


@contextlib.contextmanager
def resolving(kernel: bool) -> Generator[None]:
    before, beneath.kernel_resolves = beneath.kernel_resolves, kernel
    try:
        yield
    finally:
        beneath.kernel_resolves = before


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("target", ["absolute", "relative"])
@pytest.mark.parametrize("path", ["link", "link/secret", "dir/link/secret", "dir/link/deep/secret", "hop/secret"])
def test_a_link_is_refused_at_every_component(tmp_path: Path, path: str, target: str) -> None:
    with two_places(tmp_path) as (place, outside):
        (place / "link").symlink_to(outside if target == "absolute" else "../outside")
        (place / "dir" / "link").symlink_to(outside if target == "absolute" else "../../outside")
        (place / "hop").symlink_to("link")
        root, before = Root(place), open_descriptors()
        with pytest.raises(LeavesRoot, match="is a link, which is not followed here"):
            root.read(path, 100)
        with pytest.raises(LeavesRoot):
            root.open(path, os.O_WRONLY | os.O_CREAT)
        with pytest.raises(LeavesRoot), root.directory(path):
            pass
        with pytest.raises(LeavesRoot), root.directory(f"{path}/new", make=True):
            pass
        assert root.read_inside(path, 100) is None
        assert open_descriptors() == before
        if path.endswith("secret"):
            assert (place / path).read_bytes() == SECRET, "the control arm: joining the path gets out"


@pytest.mark.parametrize(
    "path", ["..", "../outside/secret", "dir/../../outside/secret", "/etc/passwd", "a\0b", "dir/.."]
)
def test_a_path_that_names_a_place_outside_is_refused(tmp_path: Path, path: str) -> None:
    with two_places(tmp_path) as (place, _):
        for call in (Root(place).names, Root(place).status, Root(place).below):
            with pytest.raises(LeavesRoot, match="is not a path below the directory"):
                call(path)


def test_existing_files_are_read_listed_and_written(tmp_path: Path) -> None:
    with two_places(tmp_path) as (place, _):
        root = Root(place)
        assert root.read("dir/file", 100) == root.below("dir").read("file", 3 + 100) == b"inside"
        assert root.read("./dir//file", 2) == b"in"
        assert (root.read("dir", 9), root.read("none", 9), root.read("dir/file/x", 9)) == (None, None, None)
        assert (root.is_file("dir/file"), root.is_directory("dir"), root.is_directory()) == (True, True, True)
        with root.directory("new/and/deep", make=True), root.above("new/name") as (fd, name):
            os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        (place / "new" / "link").symlink_to("../dir")
        assert list(root.files_below()) == [b"dir/file", b"new/link", b"new/name"]
        assert root.directories_below("new") == [b"new/and/deep", b"new/and", b"new"]
        assert (root.target("new/link"), root.target("dir"), root.target("none")) == (b"../dir", None, None)
        assert root.names("new") == ["and", "link", "name"]
        found = root.status("new/link")
        assert found is not None and stat.S_ISLNK(found.st_mode)


def test_an_inner_link_is_followed_only_on_request(tmp_path: Path) -> None:
    with two_places(tmp_path) as (place, _):
        (place / "dir" / "up").symlink_to("../dir/file")
        (place / "again").symlink_to("dir/up")
        (place / "around").symlink_to("dir/../again")
        (place / "ring").symlink_to("ring")
        (place / "back").symlink_to("../root/dir/file")
        (place / "absolute").symlink_to(place / "dir" / "file")
        (place / "proc").symlink_to("/proc/self/root")
        root = Root(place)
        assert [root.read_inside(name, 9) for name in ("dir/up", "again", "around")] == [b"inside"] * 3
        assert [root.read_inside(name, 9) for name in ("ring", "back", "absolute", "proc/etc/passwd")] == [None] * 4
        with pytest.raises(LeavesRoot):
            root.read("again", 9)


def test_pipes_devices_and_sockets_are_not_read_and_do_not_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    root = Root(tmp_path)
    assert root.read("pipe", 9) is None
    assert root.read_inside("pipe", 9) is None


def test_a_path_longer_than_the_kernel_takes_in_one_call_is_opened(tmp_path: Path) -> None:
    parts = ["d" * 200] * 30
    with Root(tmp_path).directory("/".join(parts), make=True) as fd:
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    assert len(list(Root(tmp_path).files_below())) == 1
    with Root(tmp_path).above("/".join([*parts, "file"])) as (fd, name):
        os.unlink(name, dir_fd=fd)


# -- random trees --

PATHS = st.lists(st.sampled_from((*NAMES, "..", ".", "")), min_size=1, max_size=5).map("/".join)
TARGETS = PATHS | st.sampled_from(
    ("/", "/etc", "OUTSIDE", "OUTSIDE/deep", "../outside", "../../outside", "/proc/self/cwd")
)
NODES = st.dictionaries(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join),
    st.one_of(st.just(("dir", "")), st.just(("file", "")), TARGETS.map(lambda target: ("link", target))),
    max_size=8,
)


@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(nodes=NODES, paths=st.lists(PATHS, min_size=1, max_size=6))
def test_in_random_trees_of_links_nothing_outside_is_read_or_written(
    tmp_path_factory: pytest.TempPathFactory, nodes: dict[str, tuple[str, str]], paths: list[str]
) -> None:
    with two_places(tmp_path_factory.mktemp("trees")) as (place, outside):
        plant(place, outside, nodes)
        before = open_descriptors()
        for path in paths:
            for content in attempts(Root(place), path):
                assert SECRET not in content
        assert open_descriptors() == before


@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(nodes=NODES, paths=st.lists(PATHS, min_size=1, max_size=6))
@example(nodes={"b": ("file", ""), "c": ("link", "b/.")}, paths=["c"])
@example(nodes={"b": ("file", ""), "c": ("link", "b/")}, paths=["c"])
@example(nodes={"a": ("dir", ""), "a/b": ("file", ""), "c": ("link", "a/./b")}, paths=["c"])
def test_both_resolvers_give_the_same_answers(
    tmp_path_factory: pytest.TempPathFactory, nodes: dict[str, tuple[str, str]], paths: list[str]
) -> None:
    with two_places(tmp_path_factory.mktemp("trees")) as (place, outside):
        plant(place, outside, nodes)
        for path in paths:
            assert answers(place, path, kernel=True) == answers(place, path, kernel=False)


def answers(place: Path, path: str, kernel: bool) -> list[object]:
    found: list[object] = []
    with resolving(kernel):
        for ask in (Root(place).names, Root(place).is_file, Root(place).target):
            try:
                found.append(ask(path))
            except OSError as error:
                found.append((type(error), error.errno))
        found.append(safely(Root(place), path))
    return found


# -- races --


@contextlib.contextmanager
def exchanged(place: Path, outside: Path) -> Generator[None]:
    """`turn` alternates between a directory and a link to the outside."""
    (place / "turn").mkdir()
    (place / "turn" / "secret").write_bytes(b"harmless")
    (place / "other").symlink_to(outside)
    source = (
        "import ctypes, os, sys\n"
        "libc = ctypes.CDLL(None)\n"
        "fd = os.open(sys.argv[1], os.O_RDONLY)\n"
        "print('ready', flush=True)\n"
        "while True: libc.renameat2(fd, b'turn', fd, b'other', 2)\n"  # 2: exchange
    )
    process = subprocess.Popen([sys.executable, "-c", source, str(place)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_no_race_between_a_directory_and_a_link_escapes_the_root(tmp_path: Path) -> None:
    with two_places(tmp_path) as (place, outside), exchanged(place, outside):
        root = Root(place)
        seen, refused = set[bytes](), 0
        for number in range(200_000):
            if number >= 4000 and refused and b"harmless" in seen:
                break
            try:
                seen.add(root.read("turn/secret", 100) or b"")
                os.close(root.open(f"turn/new{number % 5}", os.O_WRONLY | os.O_CREAT))
            except (LeavesRoot, NotADirectoryError):
                refused += 1
            except FileNotFoundError:
                continue
        assert seen <= {b"harmless", b""}
        assert refused and b"harmless" in seen, "both states must have been met"


def test_without_the_defence_the_same_race_escapes(tmp_path: Path) -> None:
    with two_places(tmp_path) as (place, outside), exchanged(place, outside):
        for _ in range(200_000):
            if not (place / "turn").is_symlink():
                with contextlib.suppress(OSError):
                    if (place / "turn" / "secret").read_bytes() == SECRET:
                        return
    pytest.fail("the race never bit: the test above shows nothing")


@contextlib.contextmanager
def changing(place: Path, outside: Path, seed: int) -> Generator[None]:
    """A tree of directories and links to the outside whose names, and whose root, change places continuously."""
    root = place.parent
    for path in ("a/a", "b/a", "c/a", "turn"):
        (place / path).mkdir(parents=True)
        (place / path / "secret").write_bytes(b"harmless")
    for path, target in (("a/b", outside), ("b/c", "../../outside"), ("other", outside), ("../link", outside)):
        (place / path).symlink_to(target)
    program = Path(__file__).with_name("racing_tree.py")
    process = subprocess.Popen([sys.executable, program, str(root), str(seed)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        if (root / "root").is_symlink():
            (root / "root").unlink()
            (root / "link").rename(root / "root")


PLACES = [f"{first}{second}/secret" for first in ("a", "b", "c", "turn", "other") for second in ("", "/a", "/b", "/c")]


@pytest.mark.parametrize("seed", range(3))
def test_no_random_race_escapes_a_root(tmp_path: Path, seed: int) -> None:
    with two_places(tmp_path) as (place, outside):
        root, choose = pin(place), random.Random(seed)
        seen, replaced = set[bytes](), 0
        with changing(place, outside, seed):
            for tried in range(200_000):
                if tried >= examples(600) and replaced and b"harmless" in seen:
                    break
                for content in attempts(root, choose.choice(PLACES)):
                    seen.add(content)
                try:
                    root.status()
                except LeavesRoot as error:
                    replaced += "was replaced" in str(error)
        assert not any(SECRET in content for content in seen)
        assert b"harmless" in seen, "the tree must have been met as it was"
        assert replaced, "another directory must have been met in the place of the root"


def test_with_joined_paths_the_same_races_escape(tmp_path: Path) -> None:
    with two_places(tmp_path) as (place, outside), changing(place, outside, 0):
        for path in itertools.islice(itertools.cycle(PLACES), 200_000):
            with contextlib.suppress(OSError):
                if (place / path).read_bytes() == SECRET:
                    return
    pytest.fail("the races never bit: the test above shows nothing")


def test_a_root_is_refused_once_its_directory_was_replaced(tmp_path: Path) -> None:
    with two_places(tmp_path) as (place, outside):
        pinned_root, plain = pin(place), Root(place)
        assert pinned_root.below("dir").read("file", 9) == b"inside"
        place.rename(tmp_path / "moved")
        place.symlink_to(outside)
        for ask in (pinned_root.names, pinned_root.below("deep").names, pinned_root.below("", 0o660).names):
            with pytest.raises(LeavesRoot, match="root was replaced by another directory"):
                ask()
        with pytest.raises(LeavesRoot), pinned_root.directory("new", make=True):
            pass
        assert plain.read("secret", 99) == SECRET, "the control arm: a root that is not pinned follows the link"
        place.unlink()
        (tmp_path / "moved").rename(place)
        assert pinned_root.read("dir/file", 9) == b"inside", "it is the same directory again"


# -- mounts --


def in_a_mount_namespace(program: str, *arguments: str) -> str:
    own = ["--map-root-user"] if os.geteuid() else []
    command = [needs("unshare"), "--mount", *own, sys.executable, str(Path(__file__).with_name(program)), *arguments]
    paths = [str(Path(__file__).parents[1]), str(Path(beneath.__file__).parents[2])]
    env = {**os.environ, "PYTHONPATH": ":".join(paths)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode and "unshare failed" in done.stderr:
        leave_out("the right to make a mount namespace")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_in_random_trees_with_random_mounts_nothing_outside_is_read_or_written(tmp_path: Path) -> None:
    count = examples(60)
    said = in_a_mount_namespace("mounted_trees.py", str(tmp_path), "1", str(count))
    trees, mounts = (int(number) for number in re.findall(r"\d+", said))
    assert (trees, mounts >= count) == (count, True), said


MOUNTS = """
import os, subprocess, sys
sys.path[:0] = sys.argv[2:]
from donewhen.workspace import beneath
from donewhen.workspace.beneath import LeavesRoot, Root
place = sys.argv[1]
subprocess.run(["mount", "--bind", f"{place}/outside", f"{place}/root/dir"], check=True)
os.symlink("/etc", f"{place}/root/dir/etc")
for beneath.kernel_resolves in (True, False):
    root = Root(f"{place}/root")
    assert root.read("dir/secret", 100) == b"the private key", "a mount is part of the tree"
    try:
        root.read("dir/etc/passwd", 100)
    except LeavesRoot:
        print("refused")
os.unlink(f"{place}/root/dir/etc")
"""


def test_a_mount_below_the_root_is_part_of_it_and_its_links_are_not_followed(tmp_path: Path) -> None:
    with two_places(tmp_path) as (place, _):
        own = ["--map-root-user"] if os.geteuid() else []
        paths = [str(Path(beneath.__file__).parents[2])]
        command = [needs("unshare"), "--mount", *own, sys.executable, "-c", MOUNTS, str(place.parent), *paths]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode and "unshare failed" in done.stderr:
            leave_out("the right to make a mount namespace")
        assert (done.stdout, done.returncode) == ("refused\nrefused\n", 0), done.stderr


def test_a_kernel_without_openat2_is_detected_once(tmp_path: Path) -> None:
    """A call number that no kernel has, which answers like an older kernel."""
    (tmp_path / "file").write_bytes(b"x")
    before, beneath.SYS_OPENAT2 = beneath.SYS_OPENAT2, 1_000_000
    try:
        with resolving(kernel=True):
            assert Root(tmp_path).read("file", 9) == b"x"
            assert not beneath.kernel_resolves
    finally:
        beneath.SYS_OPENAT2 = before


def test_an_impossible_path_is_refused_in_one_line(tmp_path: Path) -> None:
    root = Root(tmp_path)
    for ask in (root.names, root.status, root.below, root.full_path, root.is_file):
        with pytest.raises(LeavesRoot, match="contains characters that no path can have"):
            ask("a\ud800/b")


def test_the_time_for_a_failing_look_up_is_linear_in_the_length_of_the_path(tmp_path: Path) -> None:
    """Counted in lines of Python, not in seconds."""
    path, executed = "/".join(["n"] * 4_000), 0

    def count(_frame: FrameType, event: str, _argument: object) -> Callable[..., Any]:
        nonlocal executed
        executed += event == "line"
        assert executed < 200_000, "every part of the path was looked at for every part before it"
        return count

    sys.settrace(count)
    try:
        assert Root(tmp_path).status(path) is None
    finally:
        sys.settrace(None)


def test_an_error_names_the_path_and_keeps_its_kind(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        Root(tmp_path).open("a/b", os.O_RDONLY)
    assert (missing.value.filename, missing.value.errno) == (f"{tmp_path}/a", errno.ENOENT)
