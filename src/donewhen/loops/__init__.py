"""Loops: intents that come back on a schedule.

overview     the loops of a repository as plain values, with their next occurrences
spec_files   the loops of a repository by name, and whether a person accepted what they ask for
spec         the specification of a loop as typed data, checked
schedule     when a loop is due: cron, daily, weekly, every; time zones and changes of the clock
time_zone    a zone by name, or the machine's own
"""
