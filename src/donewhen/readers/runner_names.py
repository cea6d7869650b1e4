"""Names of the test runners that are read: `readers/NAME.py` reads what a runner prints, `judge/runners/NAME.py` says
how it is started and protected.
"""

RUNNERS = (
    "pytest", "cargo", "go", "phpunit", "rspec", "vitest", "jest", "node", "mocha", "unittest", "dotnet", "maven",
    "gradle",
)  # fmt: skip
"""The most reliable reader of failures first."""
TEXT_ORDER = (
    "pytest", "unittest", "jest", "vitest", "mocha", "cargo", "go", "rspec", "phpunit", "maven", "gradle", "dotnet",
    "node",
)  # fmt: skip
"""The order in which all of them read the text of a command that calls no known runner.

A result names the runners in this order and is stored, so a new runner is added at the end.
"""
