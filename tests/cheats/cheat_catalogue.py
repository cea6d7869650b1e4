"""All cheats, in the order of the table."""

from cheats_at_run_time import AT_RUN_TIME
from cheats_by_search import BY_SEARCH
from cheats_in_js import IN_JS
from cheats_in_rust import IN_RUST
from cheats_in_stages import IN_STAGES
from cheats_in_ts_and_java import IN_TS_AND_JAVA
from cheats_inside import INSIDE
from cheats_on_assertions import ON_ASSERTIONS
from cheats_on_git import ON_GIT
from cheats_on_locks import ON_LOCKS
from cheats_on_programs import ON_PROGRAMS
from cheats_on_settings import ON_SETTINGS
from cheats_on_steps import ON_STEPS
from cheats_on_tests import ON_TESTS
from cheats_on_tools import ON_TOOLS
from cheats_on_use import ON_USE
from unknown_tools import CHEATS_WITH_TOOLS

OUTSIDE = [
    *ON_TESTS,
    *ON_SETTINGS,
    *ON_TOOLS,
    *AT_RUN_TIME,
    *ON_GIT,
    *ON_PROGRAMS,
    *ON_LOCKS,
    *IN_STAGES,
    *IN_TS_AND_JAVA,
    *BY_SEARCH,
    *ON_ASSERTIONS,
    *ON_STEPS,
    *ON_USE,
    *CHEATS_WITH_TOOLS,
    *IN_RUST,
    *IN_JS,
]
"""The first tier: files, configuration, environment, PATH, caches, exit codes, daemons, reports, git."""
CHEATS = [*OUTSIDE, *INSIDE]
