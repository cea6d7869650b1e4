"""The wall around a command: what it can see, reach and use up. `room` is where to begin.

    level       which wall this machine can give, by trying
    view        what is visible where, as data
    bubblewrap  that data as a bubblewrap command line
    landlock    the weaker wall where namespaces are forbidden
    seccomp     the system-call filter of both
    limits      processes, memory, files: control groups, or the launcher's watcher
    relay       host services made reachable one by one
    room        the seam: one command in, how it ended out

The wall does not judge commands (`workspace.policy` gives early feedback) and starts nothing itself.
"""
