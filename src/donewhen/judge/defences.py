"""What stands between a candidate and an undeserved pass, by name. All of it is on; only tests take one away.

A test that shows an attack biting when its defence is off is what makes the defence worth believing, so every one has
a switch here. No setting, option or variable reaches these switches.
"""

from donewhen.records import frozen


@frozen(kw_only=True)
class Defences:
    protection: bool = True
    """Protected paths, existing or not, are graded as the base has them."""
    shadowing: bool = True
    """New modules that would hide the standard library or an installed package are tampering."""
    sealing: bool = True
    """Protected paths that are written while a check runs are tampering."""
    layers: bool = True
    """Every check gets a throw-away layer of its own; without it they all write into one."""
    caches: bool = True
    """No bytecode is written or taken from the user's own packages; old caches are not in the tree."""
    tools: bool = True
    """Programs are not looked up in the tree."""
    counts: bool = True
    """No test ran, fewer than on the base, or more were skipped: vacuous."""
    sidecar: bool = True
    """A report that the base's run wrote and this one did not: tampering."""
    canary: bool = True
    """A test that must fail is added to a run of its own; a runner that stays green was tampered with."""
    reruns: bool = True
    """Red is run again where that decides, and new tests have to pass more than once."""


ALL = Defences()
