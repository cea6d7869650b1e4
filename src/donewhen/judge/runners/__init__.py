"""Test runners: how they are made to write a report, how results are read, how a test that must fail is added.

    runner          the record of a runner: everything that the judge knows about it
    pytest, jest …  one module per runner, with its record
    unread          records of runners that are protected, but whose results are not read
    registry        all records
    split_command   splits a command into simple commands
    script_text     what a script or target of the base runs
    calls           which runners a command calls
    instrument      variables and arguments that make runners write a report outside of the tree
    read_results    the reports or the printed text of a run, as one result
    test_files      where the base keeps its tests
    canary          tests that must fail; `failing_test` holds what several runners share, `python_assertions` and
                    `script_assertions` the assertions with which they fail

A new runner is `readers/NAME.py`, `NAME.py` here, and its name in `readers/runner_names.py`.

Every decision here depends on the command of the check and on files of the base only. What the candidate wrote has no
influence, and no process is started.
"""

from donewhen.judge.runners.canary import AddedTest, Canary, canary
from donewhen.judge.runners.instrument import InstrumentedCommand, instrument_command
from donewhen.judge.runners.read_results import in_tree_reports, read

__all__ = ["AddedTest", "Canary", "InstrumentedCommand", "canary", "in_tree_reports", "instrument_command", "read"]
