"""One TOML file per agent; `profile` says what may stand in it."""
