"""All built-in rules in order. If two rules deny the same step, the first one gives the reason."""

from donewhen.workspace.policy.rules import (
    files,
    git,
    installs,
    machine,
    network,
    publish,
    secrets,
    understanding,
)

BUILT_IN = (
    *git.RULES,
    *publish.RULES,
    *machine.RULES,
    *installs.RULES,
    *secrets.RULES,
    *files.RULES,
    *network.RULES,
    *understanding.RULES,
)
