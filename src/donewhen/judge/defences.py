"""The defences against an undeserved pass, by name. All of them are on; only tests switch one off.

Every defence has a switch here so that a test can show that an attack works without it. That is the proof that the
defence is needed. No setting, option or environment variable reaches these switches.
"""

from donewhen.records import frozen


@frozen(kw_only=True)
class Defences:
    protection: bool = True
    """Protected paths, existing or not, are restored from the base."""
    shadowing: bool = True
    """New modules that shadow the standard library or an installed package are tampering."""
    sealing: bool = True
    """Protected paths that are written while a check runs are tampering."""
    layers: bool = True
    """Every check gets its own throw-away layer. Without it, all checks write into one layer."""
    tools: bool = True
    """Programs are not looked up in the tree."""
    counts: bool = True
    """Vacuous: no test ran, fewer tests than on the base ran, or more were skipped."""
    sidecar: bool = True
    """A report that the run on the base wrote and this run did not write is tampering."""
    canary: bool = True
    """A test that must fail is added in a separate run. A runner that stays green was tampered with."""
    observation: bool = True
    """Vacuous: a program that the check started on the base is not started any more."""
    setup: bool = True
    """Setup commands see the base's files and accepted data. What they leave under protected names is removed."""
    reruns: bool = True
    """A red check is run again where that can change the verdict, and new tests must pass more than once."""


ALL = Defences()
