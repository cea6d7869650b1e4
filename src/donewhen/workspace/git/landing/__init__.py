"""Landing: the only code that writes to the user's repository. It runs no git there, but follows git's file protocols.

    commits          creates a commit in our store, with the user's name on it
    git_config       reads the user's configuration for that name
    deliver_objects  writes the objects that the user's repository lacks, before anything refers to them
    branches         creates, moves or removes a branch by compare-and-swap
    reflog           writes the reflog line of a moved branch
    reftable_writer  the same two for a repository whose references are in tables
    apply            updates the files and the index of a clean checkout
    cleanness        decides whether a checkout is clean enough for that
    lockfile         takes git's lock files
    refusals         errors that say why nothing was landed, one line each

`session.conclude.land` decides what lands, and when. This package never forces anything and never runs a hook or a
filter. From the user's configuration it applies only line ends, file modes and the user's identity.
"""
