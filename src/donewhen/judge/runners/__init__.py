"""How a test runner is asked for evidence, how that evidence is read, and how a runner is shown a test that must fail.

    shell      a command cut into simple commands
    scripts    what a script or target of the base runs
    calls      which runners a command calls
    asks       variables and words that make them write a report outside of the tree
    reads      the reports or the printed text of a run, as one reading
    testfiles  where the base keeps its tests
    canaries   a test that must fail

What is recognised and chosen comes from the check's command and from files of the base. What the candidate wrote
decides nothing here, and nothing is started.
"""

from donewhen.judge.runners.asks import Ask, ask
from donewhen.judge.runners.canaries import Canary, canary
from donewhen.judge.runners.reads import in_tree_reports, read

__all__ = ["Ask", "Canary", "ask", "canary", "in_tree_reports", "read"]
