"""The command policy: allows, asks about or denies a shell command before it runs, and names the matching rule.

It only gives early feedback. The sandbox confines commands; nothing here does. The package is pure: it uses the
standard library and a parser, and touches no files and no processes. Start reading at `policy`, then `rules`.

    policy      decides               reader, expand, quoting, assignments, printed   turn text into steps
    rules/      what is unwanted      unwrap, prefixes, shells, repeaters, gitcall    find the steps inside a step
    narrowing   operator's rules      paths, rules/targets                            where files are, which are written
    grammar     the parser            plain                                           text that is safe to parse here

The parser may hang or crash on a command. A caller that must survive that uses `workspace.policy_process`.
"""

from donewhen.workspace.policy.policy import Policy
from donewhen.workspace.policy.ruling import Decision, Ruling

__all__ = ["Decision", "Policy", "Ruling"]
