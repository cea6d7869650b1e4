"""All built-in rules in order. If two rules deny the same step, the first one gives the reason."""

from donewhen.workspace.policy.rules import (
    deploys,
    files,
    git,
    installs,
    machine,
    network,
    packages,
    publish,
    secrets,
    understanding,
)

BUILT_IN = (
    *git.RULES,
    *publish.RULES,
    *deploys.RULES,
    *machine.RULES,
    *packages.RULES,
    *installs.RULES,
    *secrets.RULES,
    *files.RULES,
    *network.RULES,
    *understanding.RULES,
)
