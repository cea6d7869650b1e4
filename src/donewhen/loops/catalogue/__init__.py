"""The catalogue: ready-made loops, filled in for a repository.

facts        what a ready-made loop is filled in with: checks, forge, manifests, changelog
draft        a loop before it is written: its keys, and why each was filled in so
reading_loops, working_loops    the loops that only read, and those whose maker changes files
ready_loops  all of them by name
loop_file    a draft as TOML with comments
add          the list for people, and writing the chosen loop to `.donewhen/loops`
"""
