"""Decides if work is done. Only the runtime decides: no model, no engine and no memory is known here.

judge           runs every check on one tree and returns one result per check
green_proof     extra runs that are needed before a green check is believed
evidence        rules: from the facts of a run to a check status
check_runs      runs checks in fresh trees, or returns kept runs
run_check       one run of one check
check_run       the facts of one run
run_cache       kept runs that need not be repeated
contract        the checks, and the text of them that an engine is shown
contract_lint   warnings about a contract
globs           patterns over paths, as a contract uses them
verdict         the answer of the judge on one tree
graded_tree     the judged tree and the edits that are not graded
protect/        which changes of a candidate are replaced by the version in the base
seal            what a running check may not write
runners/        how a test runner is made to write a report, and given a test that must fail
detect/         a contract proposed from the files of a repository
receipt         the evidence of a verdict in one file, which can be judged again
tool_identity   which programs a check would use
judge_host      what the judge needs from its caller
output_tail     the end of an output, as it is shown
defences        the defences against cheating, each with a switch for tests
"""
