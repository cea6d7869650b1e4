"""What "done" means, decided by the runtime alone: no model, no engine and no memory is known here.

contract   the checks, and the text of them that an engine is shown
lint       what is odd about a contract
detect/    a contract proposed from what a repository already has
protect/   which changes of a candidate are graded as the base has them: J out of C
runners/   how a test runner is asked for evidence, and shown a test that must fail
judge      one tree in, one result per check out
evidence   what a run proves beyond its exit code
cache      verdicts that hold because nothing they depend on changed
receipt    the evidence of a verdict in one file, to be judged again
"""
