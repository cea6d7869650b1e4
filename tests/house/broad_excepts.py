"""The places that may catch everything, and why."""

BROAD_EXCEPTS = {
    "src/donewhen/engines/foreman/run_workers.py::_contain_failure": (
        "the boundary to one of several workers: whatever breaks in it, the others go on, and an event says why"
    ),
    "src/donewhen/engines/foreman/run_workers.py::WorkerPool._run_engine": (
        "whatever an engine raises is raised again, outside the group that watches its silence"
    ),
    "src/donewhen/loops/run_scheduler.py::_RunningScheduler._round": "it is a failed round, and the other loops go on",
    "src/donewhen/server/calls/call_process.py::run": "the end of a call process: what breaks in a call is its error",
    "src/donewhen/server/rpc/connection.py::RpcClientConnection._subscribe": "it is raised again",
    "src/donewhen/server/rpc/dispatch.py::RpcDispatcher._result_of": (
        "the boundary to a call: whatever breaks in it is an error of this call, and the connection goes on"
    ),
    "src/donewhen/server/library/callables.py::LoopServer._carried_out": (
        "the boundary to a function of the user's program: what breaks in it is a failed action with its reason"
    ),
    "src/donewhen/server/mcp/verify_jobs.py::VerifyJobs._work": (
        "the boundary to work for which no caller waits: what breaks in it is its result, and the server goes on"
    ),
    "src/donewhen/session/loop/round.py::_attempt": (
        "the engine boundary: whatever breaks in an engine, its work is judged all the same, and an event says why"
    ),
    "src/donewhen/session/planned/ask.py::_answer": (
        "the boundary to a planner or an evaluator: what breaks in it is no answer, and an event says why"
    ),
    "src/donewhen/workspace/process/launcher/child.py::_wait_for_orders": (
        "a forked process must end here whatever happens, and tells the reason through its pipe"
    ),
}
"""`path::function` → why it may catch everything. For the engine, RPC and scheduler boundaries."""
