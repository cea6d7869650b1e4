"""Agent profiles, one TOML file per agent; `discover.profile` defines the keys."""
