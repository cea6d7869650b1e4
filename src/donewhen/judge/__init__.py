"""What "done" means, decided by the runtime alone: no model, no engine and no memory is known here.

contract verdict   the checks, with the text of them that an engine is shown; what is said about a tree
lint               what is odd about a contract
detect/            a contract proposed from what a repository already has
protect/ seal      which changes of a candidate are graded as the base has them; what a running check may not write
runners/           how a test runner is asked for evidence, and shown a test that must fail
judge proof        one tree in, one result per check out; the runs that make a green believable
evidence           what a run proves beyond its exit code
bench running ran  where checks run, one run, and its facts
cache              runs that need not be repeated
receipt            the evidence of a verdict in one file, to be judged again
tools ground       which programs a check would use; what the judge stands on
defences           what stands in a cheat's way, each with a switch for tests
"""
