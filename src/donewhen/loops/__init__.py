"""Loops: intents that come back on a schedule.

What is stated
    spec_files   the loops of a repository by name, and whether a person accepted what they ask for
    spec         the specification of a loop as typed data, checked
    schedule     when a loop is due: cron, daily, weekly, every; time zones and changes of the clock
    time_zone    a zone by name, or the machine's own
    catalogue    ready-made loops, filled in for a repository

When rounds run
    loop_store   who may run a round, and how rounds ended; with `due_times`, `loop_findings` and `loop_works`
                 (`loop_records` are its records, `loop_rows`, `loop_database` and `store_schema` its tables;
                 `open_store` opens it)
    scheduler    one look at all loops: what is due is claimed (`due` computes it, `triggers` looks at commits, files
                 and verdicts)
    run_scheduler, start    the scheduler in the foreground, with rounds side by side, until a signal

One round
    run          starts a round, and resumes one
    inputs       commands in a sandbox, and `readings`: what the runtime reads itself
    round        inputs, maker, contract, checker (`round_facts` reads the log, `round_store` earlier rounds)
    loop_memory  how the last rounds ended, as the maker is told
    round_ending the gate, the escalation, the action and its receipt
    actions      what is done with the work (`forge_actions` on a forge)
    report       the text of a round, and where it is delivered
    forge        pull requests, comments and branches on GitHub or Forgejo

What a loop may do alone
    autonomy     the level in force, and the evidence for a promotion
    work_review  what became of the works of a loop: merged, reverted, red
    levels       promotions by a person, and demotions

For people and programs
    overview     loops and their history as plain values
    inbox        everything that waits for a person
"""
