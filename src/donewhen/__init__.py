"""donewhen: a coding agent is done when your checks say so.

    import donewhen

The public names are those of `donewhen.api`. They are loaded on use, so that importing any package of donewhen, and
`donewhen --version`, stays cheap.
"""

__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> object:
    """Return a public name. `__init__.pyi` tells type checkers about them."""
    if not name.startswith("_"):
        from importlib import import_module

        api = import_module(".api", __name__)
        if name in api.__all__:
            return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
