from typing import Any

Checked = Any


def validators(table):
    return {name: (lambda params: dict(params)) for name in table}
