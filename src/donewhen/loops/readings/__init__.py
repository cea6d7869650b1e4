"""Readings: inputs of a loop that the runtime reads itself, because no command in a sandbox can.

read          a reading by its name
forge_items   open issues and pull requests, and failed CI, with the token of `[forge]`; no sandbox gets it
branches      all branches of the repository; a tree in a sandbox has only the history of its base
flaky_checks  checks that were flaky in earlier sessions, from the records of donewhen
listing       entries as text of a limited size

Each returns text for the maker; it is empty if there is nothing. Equal facts give equal text, so that a loop does not
spend anything on what it has seen.
"""
