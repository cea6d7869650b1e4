"""The sandbox around a command: what it can see, reach and use up. Start with the module `sandbox`.

    level       which isolation this machine allows, found by trying
    view        what is visible where, as data
    bubblewrap  the bubblewrap command line over that view
    landlock    the weaker isolation where namespaces are forbidden
    seccomp     the system-call filter of both
    limits      processes, memory, files: control groups, or the launcher's watcher
    relay       host services made reachable one by one
    sandbox     the interface: takes one command, returns how it ended

The sandbox does not judge commands (`workspace.policy` gives early feedback) and starts no process itself.
"""
