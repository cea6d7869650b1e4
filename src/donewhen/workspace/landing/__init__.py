"""Landing: the only code that writes to the user's repository. No git runs there; git's own protocols are followed.

    commits      a commit in our store, with the user's own name on it (included, config_text: where that is found)
    delivery     the objects that the user's repository lacks, before anything names them
    branches     a branch made, moved or removed by compare-and-swap
    reflog       what a moved branch leaves in the history of references
    apply        the files and the index of a clean checkout
    cleanness    whether a checkout is clean enough for that
    lockfile     the locks that git takes, held by us
    refusals     why something was not landed, one line each

What lands, and when, is decided by `session.landing`. Nothing here forces anything, runs a hook or a filter, or obeys
the user's configuration beyond line ends, file modes and who the user is.
"""
