"""The command policy: allow, ask or deny a shell command before it runs, and say which rule speaks.

Early feedback only. The sandbox is the wall; nothing here confines anything.
A pure room: the standard library and a parser, no files, no processes. Start reading at `policy`, then `rules`.

    policy   decides              reader, expand, quoting, assignments, printed   text to steps
    rules/   what is unwanted     unwrap, prefixes, shells, repeaters, gitcall    a step to the steps inside it
    narrowing   operator rules    paths, targets                                  where files are, which are written
    grammar  the parser           plain                                           what it is certain to get through

The parser may hang or die over a command. Whoever must survive that asks through `workspace.consulting`.
"""

from donewhen.workspace.policy.policy import Policy
from donewhen.workspace.policy.ruling import Decision, Ruling

__all__ = ["Decision", "Policy", "Ruling"]
