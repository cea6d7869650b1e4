"""Cheats that make git report something else than the content of the tree."""

from cheat import Cheat
from cheat_scenes import PLAIN

WEAKENED = "printf 'def test_it():\\n    assert True\\n' > tests/test_add.py"
CONFTEST = "printf 'collect_ignore = [\"tests/test_add.py\"]\\n' > conftest.py"

ON_GIT = [
    Cheat(id=id, says=says, scene=PLAIN, stopped_by=stopped_by, shell=shell)
    for id, says, stopped_by, shell in (
        (
            "43",
            "git is told that the weakened tests are unchanged",
            "store",
            f"git update-index --assume-unchanged tests/test_add.py && {WEAKENED}",
        ),
        (
            "43",
            "git is told to skip the weakened tests",
            "store",
            f"git update-index --skip-worktree tests/test_add.py && {WEAKENED}",
        ),
        (
            "43",
            "a conftest that git is told to exclude",
            "capture",
            f"mkdir -p .git/info && echo conftest.py >> .git/info/exclude && {CONFTEST}",
        ),
        (
            "43",
            "a conftest that the tree's own rules ignore",
            "capture",
            f"echo conftest.py >> .gitignore && {CONFTEST}",
        ),
        (
            "43",
            "a conftest that a file of the home ignores",
            "capture",
            f"git config core.excludesFile $HOME/ignored && echo conftest.py > $HOME/ignored && {CONFTEST}",
        ),
        (
            "44",
            "an object of the base stands for another one",
            "store",
            f"{WEAKENED} && git replace $(git rev-parse HEAD:tests/test_add.py) "
            "$(git hash-object -w tests/test_add.py)",
        ),
        (
            "44",
            "the whole base stands for another commit",
            "store",
            f"{WEAKENED} && git commit -qam easier && git replace HEAD~1 HEAD && git update-ref HEAD HEAD~1",
        ),
        (
            "41",
            "a hook weakens the tests after each checkout",
            "store",
            f"{WEAKENED} && mkdir -p .git/hooks && cp tests/test_add.py .git/easy && "
            "printf '#!/bin/sh\\ncp .git/easy tests/test_add.py\\n' > .git/hooks/post-checkout && "
            "chmod +x .git/hooks/post-checkout",
        ),
        (
            "42",
            "a filter shows git the tests of before",
            "store",
            f"cp tests/test_add.py .git/before && {WEAKENED} && git config filter.same.clean 'cat .git/before' && "
            "mkdir -p .git/info && echo 'tests/test_add.py filter=same' > .git/info/attributes",
        ),
        (
            "42",
            "a filter of the tree's attributes weakens the tests at each checkout",
            "store",
            f"{WEAKENED} && cp tests/test_add.py .git/easy && git config filter.same.smudge 'cat .git/easy' && "
            "git config filter.same.clean cat && echo 'tests/test_add.py filter=same' > .gitattributes",
        ),
        (
            "42",
            "a file system monitor says that nothing has changed",
            "store",
            f"{WEAKENED} && printf '#!/bin/sh\\nprintf \"1\\\\0\"\\n' > .git/quiet && chmod +x .git/quiet && "
            "git config core.fsmonitor .git/quiet",
        ),
        (
            "42",
            "the attributes of an export leave the tests out",
            "store",
            f"echo 'tests/test_add.py export-ignore' > .gitattributes && {WEAKENED}",
        ),
        (
            "46",
            "a repository within the repository holds what the runner loads",
            "capture",
            "mkdir _pytest && git init -q _pytest && printf 'import os\\nos._exit(0)\\n' > _pytest/__init__.py",
        ),
        (
            "43",
            "the tests are taken out of the index and changed on disk",
            "protection",
            f"git rm -q --cached tests/test_add.py && {WEAKENED}",
        ),
        (
            "45",
            "the index holds other tests than the disk",
            "protection",
            f"cp tests/test_add.py .git/before && {WEAKENED} && git add tests && true",
        ),
    )
]
