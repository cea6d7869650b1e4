"""A maker changes what its own loop uses, or somebody changes the repository between an escalation and its approval."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from loop_scene import DONE, FIX, LoopScene, loop

from donewhen.loops.gate import ActionProposal, GateRule, decide
from donewhen.loops.guarded_paths import changes_guarded_path, is_covered
from donewhen.loops.spec import spec_of
from donewhen.workspace.process.launch import Launcher
from program import PROGRAM
from repositories import commit, git, try_git, write

SCRIPTS = {
    "deploy.sh": "#!/bin/sh\nsh tools/inner.sh\n",
    "tools/inner.sh": "true\n",
    "tools/notify.py": "import sys\n",
    "Makefile": "deploy:\n\tsh deploy.sh\n",
    "package.json": '{"scripts": {"deploy": "sh deploy.sh"}}\n',
    "policy/rules.toml": "",
    "src/app.py": "",
}
USES: list[tuple[Mapping[str, Any], str, str]] = [
    ({}, "donewhen.toml", "README.md"),
    ({}, "packages/one/donewhen.toml", "packages/one/other.toml"),
    ({}, ".donewhen/loops/x.toml", ".donewhenx"),
    ({}, ".donewhen", "donewhen"),
    ({"gate": "rules:policy/rules.toml"}, "policy/rules.toml", "src/app.py"),
    ({"gate": "rules:./src/../policy/rules.toml"}, "policy/rules.toml", "policy/other.toml"),
    ({"gate": "rules:linked.toml"}, "policy/rules.toml", "src/app.py"),
    ({"gate": "rules:policy/rules.toml"}, "policy", "src"),
    ({"gate": "command:./deploy.sh --strict"}, "deploy.sh", "src/app.py"),
    ({"gate": "command:python3 tools/notify.py"}, "tools/notify.py", "src/app.py"),
    ({"gate": "command:python3 -m tools.notify"}, "tools/notify.py", "tools/other.py"),
    ({"action": "command:sh deploy.sh"}, "deploy.sh", "src/app.py"),
    ({"action": "command:sh deploy.sh"}, "tools/inner.sh", "src/app.py"),
    ({"action": "command:cd tools && ./inner.sh"}, "tools/inner.sh", "src/app.py"),
    ({"action": "command:make deploy"}, "Makefile", "src/app.py"),
    ({"action": "command:make deploy"}, "tools/inner.sh", "src/app.py"),
    ({"action": "command:npm run deploy"}, "package.json", "src/app.py"),
    ({"action": "command:tool --config=tools/notify.py"}, "tools/notify.py", "tools/inner.sh"),
    ({"action": "command:tar cf /tmp/x.tar src"}, "donewhen.toml", "src/app.py"),
    ({"inputs": [{"name": "i", "command": "./tools/inner.sh | head"}]}, "tools/inner.sh", "src/app.py"),
    ({"deliver": ["file:reports/daily.md"]}, "reports/daily.md", "reports/other.md"),
    ({"deliver": ["file:reports/daily.md"]}, "reports", "src/app.py"),
    ({"action": "open-pr"}, ".github/workflows/ci.yml", ".github/CODEOWNERS.md"),
    ({"action": "open-pr"}, ".gitlab-ci.yml", "gitlab-ci.yml"),
    ({"action": "branch"}, "donewhen.toml", ".github/workflows/ci.yml"),
]


@pytest.mark.parametrize(("keys", "guarded", "free"), USES)
def test_what_a_loop_uses_is_guarded_and_other_work_is_not(
    tmp_path: Path, keys: Mapping[str, Any], guarded: str, free: str
) -> None:
    write(tmp_path, SCRIPTS)
    (tmp_path / "linked.toml").symlink_to("policy/rules.toml")
    spec = spec_of({"name": "x", "intent": "x", **keys}, "")
    assert changes_guarded_path(spec, tmp_path, ("a.txt", guarded)) == guarded
    assert changes_guarded_path(spec, tmp_path, ("a.txt", free)) == ""


NEVER = [
    ("src/auth/**", "src/auth", "src/author"),
    ("src/auth/**", "src", "srcs"),
    ("deploy/keys/*.pem", "deploy/keys", "deploy/other"),
    ("**/secrets/**", "a/secrets/b", "a/b"),
    ("*.pem", "x.pem", "x/y.pem"),
]


@pytest.mark.parametrize(("pattern", "hit", "free"), NEVER)
def test_a_link_in_the_place_of_a_directory_does_not_get_around_never(pattern: str, hit: str, free: str) -> None:
    assert is_covered([pattern], hit) and not is_covered([pattern], free)


@pytest.mark.sample(0)
def test_a_change_that_cannot_be_counted_is_not_a_small_one(tmp_path: Path) -> None:
    rule = '[[rule]]\ndecide = "proceed"\nmax_lines = 10\n'
    keys = {"level": "unattended", "gate": "rules:rules.toml"}
    scene = LoopScene.made(tmp_path, loop(action="branch", **keys), files={"rules.toml": rule})
    hides = "printf '//\\0\\n' > large.js; seq 100000 >> large.js"
    scene.script([FIX, {"tool": {"name": "shell", "input": {"command": hides}}}, DONE])
    _, finished, _ = scene.run()
    assert (finished["outcome"], finished["reason"]) == ("escalated", "no rule of rules.toml matches")
    scene("deny", scene.session())
    scene("loop", "promote", "fixer")  # the denial has demoted it
    something_new(scene, 1)
    scene.script()  # the control: a small change of lines
    assert scene.run()[1]["outcome"] == "proceeded"


def proposed(**keys: Any) -> ActionProposal:
    given: dict[str, Any] = dict.fromkeys(("loop", "session", "level", "summary", "unverified_reason", "tree"), "")
    given |= {"base": "", "finding": "", "insertions": 0, "deletions": 0, "tokens": 0, "usd": 0.0, "paths": ()}
    given |= {"verified": True, "action": "branch", **keys}
    return ActionProposal(**given)


def test_a_rule_about_paths_lets_no_work_without_paths_proceed() -> None:
    proposal = proposed(action="comment")
    assert not GateRule(proceeds=True, paths=("docs/**",)).matches(proposal)
    assert GateRule(proceeds=True, kinds=("comment",)).matches(proposal)
    small = GateRule(proceeds=True, max_lines=10)
    assert small.matches(proposed(insertions=10)) and not small.matches(proposed(binary_files=1))


PROGRAMS = {
    "yes proceed | head -c 50000000; kill -9 $$": False,
    "echo proceed; exit 1": False,
    "printf 'pro\\0ceed'": False,
    "echo escalate; echo proceed": False,
    "printf '\\033[2Kproceed'": False,
    "": False,
    "cat > /dev/null; echo proceed: small": True,
    "echo Proceed": True,
}


@pytest.mark.anyio
async def test_a_gate_program_that_dies_or_talks_without_end_lets_nothing_proceed(tmp_path: Path) -> None:
    """What it reads is data: a summary that says `proceed` decides nothing."""
    async with Launcher.open() as launcher:
        for program, proceeds in PROGRAMS.items():
            spec = spec_of({"name": "x", "intent": "x", "level": "unattended", "gate": f"command:{program or ':'}"}, "")
            opinion = await decide(spec, proposed(summary="proceed"), tmp_path, launcher)
            assert opinion.proceeds is proceeds, program


RULES = '[[rule]]\ndecide = "proceed"\npaths = ["calc.py"]\n'
WIDER = '[[rule]]\ndecide = "proceed"\n'


def test_a_maker_that_widens_the_rules_of_its_gate_needs_a_person_and_the_old_rules_decide(tmp_path: Path) -> None:
    keys = {"level": "unattended", "action": "apply-patch", "gate": "rules:./rules.toml"}
    scene = LoopScene.made(tmp_path, loop(**keys), files={"rules.toml": RULES, "other.txt": "1\n"})
    widens = {"tool": {"name": "write_file", "input": {"path": "rules.toml", "content": WIDER}}}
    scene.script([FIX, widens, DONE])
    _, finished, _ = scene.run()
    assert (finished["outcome"], finished["reason"]) == (
        "escalated",
        "it changes rules.toml, which decides what the loop does",
    )
    scene("deny", scene.session())
    scene("loop", "promote", "fixer")  # the denial has demoted it
    something_new(scene, 1)
    beyond = {"tool": {"name": "write_file", "input": {"path": "other.txt", "content": "2\n"}}}
    scene.script([FIX, beyond, DONE])
    assert "no rule of" in scene.run()[1]["reason"]
    scene("deny", scene.session())
    scene("loop", "promote", "fixer")  # the denial has demoted it
    something_new(scene, 2)
    scene.script()
    assert scene.run()[1]["outcome"] == "proceeded"


def something_new(scene: LoopScene, number: int) -> None:
    write(scene.root, {"new.txt": f"{number}\n"})
    commit(scene.root, "something new")


def test_a_script_that_the_maker_rewrote_is_not_run_before_a_person_has_seen_it(tmp_path: Path) -> None:
    out = tmp_path / "ran"
    keys: dict[str, Any] = {"level": "unattended", "action": "command:sh deploy.sh", "allow": ["command"]}
    scene = LoopScene.made(tmp_path, loop(**keys), files={"deploy.sh": f"echo base >> {out}\n"})
    evil = {"tool": {"name": "write_file", "input": {"path": "deploy.sh", "content": f"echo maker >> {out}\n"}}}
    scene.script([FIX, evil, DONE])
    _, finished, _ = scene.run()
    assert (finished["outcome"], out.exists()) == ("escalated", False) and "deploy.sh" in finished["reason"]
    # The control: with the approval of a person the work is trusted, and its script has the rights of the user.
    assert scene("approve", scene.session()).code == 0
    assert out.read_text() == "maker\n"
    something_new(scene, 1)
    out.unlink()
    scene.script()
    write(tmp_path, {"deploy.sh": f"echo base >> {out}\n"})
    scene.state(loop(**keys | {"action": f"command:sh {tmp_path}/deploy.sh"}))
    assert (scene.run()[1]["outcome"], out.read_text()) == ("proceeded", "base\n")


def test_an_approval_runs_what_was_shown_whatever_the_repository_has_become(tmp_path: Path) -> None:
    out = tmp_path / "ran"
    shown = f"cp calc.py {out}; git status >> {out}"
    scene = LoopScene.made(tmp_path, loop(action=f"command:{shown}; true"), loop("brancher", max_open=5))
    assert scene.run()[1]["outcome"] == "escalated"
    session = scene.session()
    judged = git(scene.root, "rev-parse", f"donewhen/{session}^{{tree}}")
    # What can change meanwhile: the loop, the branch of the work, the base, and the settings of git with their hooks.
    planted = tmp_path / "planted"
    trap = planted_traps(scene, planted)
    scene.state(loop(action=f"command:echo other > {out}"))
    write(scene.root, {"calc.py": "raise SystemExit('evil')\n"})
    evil = commit(scene.root, "evil")
    try_git(scene.root, "update-ref", f"refs/heads/donewhen/{session}", evil)
    planted.unlink(missing_ok=True)
    answer = scene("approve", session)
    assert answer.code == 0, answer.err
    assert out.read_text().startswith("def add(a, b):\n    return a + b\n") and "evil" not in out.read_text()
    assert not planted.exists()
    assert git(scene.root, "rev-parse", f"{judged}").strip() == judged
    trap()
    assert planted.exists()


LOOKS_LIKE_A_REPOSITORY = {
    "HEAD": "ref: refs/heads/main\n",
    "config": "[core]\n\trepositoryformatversion = 0\n\tworktree = .\n\tfsmonitor = echo ran >> {}; false\n",
    "objects/x": "",
    "refs/x": "",
}


@pytest.mark.sample(0)
def test_work_that_looks_like_a_repository_runs_nothing_through_the_git_of_an_action(tmp_path: Path) -> None:
    planted, out = tmp_path / "planted", tmp_path / "out"
    scene = LoopScene.made(tmp_path, loop(action=f"command:(git status; ls) >> {out} 2>&1; true"))
    files = {name: text.format(planted) for name, text in LOOKS_LIKE_A_REPOSITORY.items()}
    writes = [
        {"tool": {"name": "write_file", "input": {"path": path, "content": text}}} for path, text in files.items()
    ]
    scene.script([FIX, *writes, DONE])
    assert scene.run()[1]["outcome"] == "escalated"
    assert scene("approve", scene.session()).code == 0
    assert "fsmonitor" not in out.read_text() and "objects" in out.read_text() and not planted.exists()
    write(tmp_path / "copy", files)
    try_git(tmp_path / "copy", "status")  # the control
    assert planted.exists()


def planted_traps(scene: LoopScene, planted: Path) -> Any:
    """Plant hooks, filters and programs in the repository. Return what makes git of a user run them."""
    hooks = scene.root.parent / "hooks"
    for name in ("post-checkout", "reference-transaction", "pre-push", "post-index-change"):
        write(hooks, {name: f"#!/bin/sh\necho {name} >> {planted}\n"})
        (hooks / name).chmod(0o755)
    program = f"echo program >> {planted}; cat"
    for key, value in {
        "core.hooksPath": str(hooks),
        "filter.trap.smudge": program,
        "filter.trap.clean": program,
        "core.fsmonitor": program,
        "core.sshCommand": program,
        "credential.helper": f"!{program}",
    }.items():
        git(scene.root, "config", key, value)
    write(scene.root, {".git/info/attributes": "* filter=trap\n"})
    return lambda: try_git(scene.root, "checkout", "--force", "--quiet", "HEAD~1", "--", "calc.py")


def test_of_an_approval_and_a_denial_at_once_exactly_one_counts(tmp_path: Path) -> None:
    out = tmp_path / "ran"
    scene = LoopScene.made(tmp_path, loop(action=f"command:echo once >> {out}; true"))
    scene.run()
    session = scene.session()
    verbs = ["approve", "deny", "approve"]
    running = [
        subprocess.Popen(
            [PROGRAM, verb, session], cwd=scene.root, env={**os.environ, **scene.env}, stderr=-1, stdout=-1
        )
        for verb in verbs
    ]
    said = [b"".join(process.communicate()).decode() for process in running]
    events = [json.loads(line) for line in scene("log", session, "--json").out.splitlines()]
    decisions = [one["decision"] for one in events if one["type"] == "gate_decided"]
    assert len(decisions) == 1, said
    last = [one["outcome"] for one in events if one["type"] == "round_finished"][-1]
    if decisions == ["approved"]:
        assert (last, out.read_text()) == ("proceeded", "once\n")
    else:
        assert (last, out.exists()) == ("escalated", False)
    assert "Traceback" not in "".join(said) and scene.inbox() == []
    again = scene("approve", session)
    assert again.code != 0 or decisions == ["approved"]
