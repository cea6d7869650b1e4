"""The ready-made loops whose maker changes files. A person decides about everything that they make."""

from donewhen.errors import BadInput
from donewhen.loops.catalogue.draft import DraftCheck, DraftInput, Filled, LoopDraft, ReadyLoop
from donewhen.loops.catalogue.facts import RepositoryFacts
from donewhen.loops.catalogue.reading_loops import CHECK_REPORT, forge_filled, forge_input
from donewhen.loops.spec import ActionKind, LoopLevel, Reading

CI_FILES = (".github/**", ".forgejo/**", ".gitea/**", ".gitlab-ci.yml", ".woodpecker/**", ".circleci/**", "Jenkinsfile")
MOST_COMMITS = 60


def _checks_for(facts: RepositoryFacts) -> tuple[tuple[str, ...], Filled]:
    if not facts.checks:
        raise BadInput("needs checks in donewhen.toml; run: donewhen init")
    names = facts.names_of_checks
    return names, Filled("checks", ", ".join(names), "these are all checks of donewhen.toml, which say what done means")


def _ci_sweeper(facts: RepositoryFacts) -> LoopDraft:
    checks, filled = _checks_for(facts)
    action = ActionKind.OPEN_PR if facts.forge else ActionKind.APPLY_PATCH
    return LoopDraft(
        intent=f"Keep {facts.branch or 'this branch'} green.",
        level=LoopLevel.ASSISTED,
        action=action,
        maker=(
            "Find the cause of the newest failure and fix it, with the smallest change that does.\n"
            "Fix the cause and not the check: change no test, no limit and no configuration of CI to make it pass.\n"
            "If nothing fails, if the cause is outside this repository, or if you are not sure, change nothing and "
            "say why."
        ),
        checker="Try to show that the fix hides the failure, is incomplete, or breaks something else.",
        inputs=(forge_input(facts, Reading.FAILED_CI),) if facts.forge else (),
        checks=checks,
        never=CI_FILES,
        filled=(filled, forge_filled(facts, "action", action.value)),
    )


def _dependency_sweeper(facts: RepositoryFacts) -> LoopDraft:
    checks, filled = _checks_for(facts)
    if not facts.outdated:
        if facts.without_program:
            missing = ", ".join(f"{one.program} for {one.manifest}" for one in facts.without_program)
            raise BadInput(f"needs a program that is not installed: {missing}")
        raise BadInput("needs a manifest, such as package.json, Cargo.toml or pyproject.toml")
    action = ActionKind.OPEN_PR if facts.forge else ActionKind.BRANCH
    inputs = tuple(
        DraftInput(
            name=f"outdated-{one.program}",
            command=one.command,
            network=True,
            timeout_secs=300,
            comment=f"what is outdated in {one.manifest}; it asks the package registry and has no token",
        )
        for one in facts.outdated
    )
    manifests = ", ".join(one.manifest for one in facts.outdated)
    return LoopDraft(
        intent="Keep the dependencies up to date, one small update at a time.",
        level=LoopLevel.ASSISTED,
        action=action,
        maker=(
            "Choose one update from the data: the one that matters most, and rather a patch or a minor version.\n"
            "Change the manifest, and what the code needs for it. You have no network: change a lock file only if you "
            "can do it exactly, never invent a checksum, and name the command that updates it.\n"
            "If nothing is outdated, change nothing."
        ),
        checker="Try to show that the update breaks something: read how the package is used, and run what uses it.",
        inputs=inputs,
        checks=checks,
        never=CI_FILES,
        filled=(
            filled,
            Filled("inputs", ", ".join(one.name for one in inputs), f"found {manifests}"),
            forge_filled(facts, "action", action.value),
        ),
    )


def _changelog_drafter(facts: RepositoryFacts) -> LoopDraft:
    file = facts.changelog
    if not file:
        return LoopDraft(
            intent="Draft an entry for the changelog.",
            level=LoopLevel.REPORT,
            action=ActionKind.REPORT,
            maker=f"{ENTRY}\nYour report is the entry and nothing else.",
            checker=CHECK_REPORT,
            inputs=(DraftInput(name="commits", command=SINCE_TAG, comment="the commits since the newest tag"),),
            filled=(Filled("action", "report", "there is no changelog file; the report is the entry"),),
        )
    action = ActionKind.OPEN_PR if facts.forge else ActionKind.BRANCH
    since = f'since=$(git log -1 --format=%H -- {file})\n{COMMITS} "${{since:+$since..}}HEAD"'
    return LoopDraft(
        intent=f"Keep {file} complete.",
        level=LoopLevel.ASSISTED,
        action=action,
        maker=(
            f"{ENTRY}\nAdd it to {file}, in its form and in the section for what is not released; make that section if "
            "it is missing. Change no other file. If the commits hold nothing for users, change nothing."
        ),
        checker="Look for entries that the commits do not support, and for a change for users that has no entry.",
        inputs=(DraftInput(name="commits", command=since, comment=f"the commits since {file} was changed last"),),
        own_check=DraftCheck(
            name="only-changelog",
            command=f"test -z \"$(git status --porcelain -- . ':!{file}')\"",
            comment=f"nothing but {file} is changed",
        ),
        filled=(
            Filled("check", "only-changelog", f"found {file}; no other file may change"),
            forge_filled(facts, "action", action.value),
        ),
    )


COMMITS = f'git log --no-merges --date=short -n {MOST_COMMITS} --format="%n%h %ad %an: %s%n%b"'
SINCE_TAG = f'tag=$(git describe --tags --abbrev=0 2>/dev/null)\n{COMMITS} "${{tag:+$tag..}}HEAD"'
ENTRY = (
    "Draft the entry for the commits below. Write what users notice, in their words, one line for each change; leave "
    "out refactorings, tests and the work on CI. Look at the change itself where its message does not say enough."
)

WORKING_LOOPS = (
    ReadyLoop(
        name="ci-sweeper",
        what="finds the cause of a red check and fixes it",
        schedule="every 10m",
        turns=20,
        tokens=400_000,
        tokens_per_day=2_000_000,
        minutes=30,
        usd_per_day=5.0,
        draft=_ci_sweeper,
    ),
    ReadyLoop(
        name="dependency-sweeper",
        what="updates one outdated dependency at a time",
        schedule="daily 04:00",
        turns=16,
        tokens=300_000,
        tokens_per_day=600_000,
        minutes=30,
        usd_per_day=5.0,
        draft=_dependency_sweeper,
    ),
    ReadyLoop(
        name="changelog-drafter",
        what="drafts the changelog entry for new commits",
        schedule="daily 18:00",
        turns=10,
        tokens=150_000,
        tokens_per_day=300_000,
        minutes=15,
        usd_per_day=2.0,
        draft=_changelog_drafter,
    ),
)
