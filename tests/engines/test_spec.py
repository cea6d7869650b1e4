"""Names of engines: what they mean as an engine, a builder and a worker, and which cannot stand there."""

import pytest

from donewhen.engines.spec import EngineKind, EngineSpec, Role, is_ours
from donewhen.errors import BadInput

AUTO, NATIVE, EXTERNAL, FOREMAN, PLANNED = EngineKind
CLAUDE = EngineSpec(EXTERNAL, "claude")


@pytest.mark.parametrize(
    ("text", "role", "spec"),
    [
        ("auto", "engine", EngineSpec(AUTO)),
        ("native", "engine", EngineSpec(NATIVE)),
        ("external", "engine", EngineSpec(EXTERNAL)),
        ("external:claude", "engine", CLAUDE),
        ("foreman", "engine", EngineSpec(FOREMAN)),
        ("foreman:claude", "engine", EngineSpec(FOREMAN, inner=CLAUDE)),
        ("foreman:external:claude", "engine", EngineSpec(FOREMAN, inner=CLAUDE)),
        ("foreman:native", "engine", EngineSpec(FOREMAN, inner=EngineSpec(NATIVE))),
        ("planned", "engine", EngineSpec(PLANNED)),
        ("planned:auto", "engine", EngineSpec(PLANNED, inner=EngineSpec(AUTO))),
        ("planned:foreman:claude", "engine", EngineSpec(PLANNED, inner=EngineSpec(FOREMAN, inner=CLAUDE))),
        ("claude", "builder", CLAUDE),
        ("claude", "worker", CLAUDE),
        ("a:b", "worker", EngineSpec(EXTERNAL, "a:b")),
    ],
)
def test_a_name_is_read_by_its_role(text: str, role: Role, spec: EngineSpec) -> None:
    assert EngineSpec.parse(text, role) == spec


@pytest.mark.parametrize(
    ("text", "role", "named"),
    [
        ("", "engine", "'' is not an engine; known are auto, native, external, foreman, planned"),
        ("claude", "engine", "'claude' is not an engine"),
        ("native:x", "engine", "'native:x' is not an engine"),
        ("auto:", "engine", "'auto:' is not an engine"),
        ("external:", "engine", "'external:' is not an engine"),
        ("planned:planned", "engine", "'planned' is no builder; known are native, external, foreman and every agent"),
        ("planned:native:x", "engine", "'native:x' is no builder"),
        ("foreman:native:x", "engine", "'native:x' is no worker; known are native, external and every agent"),
        ("foreman:foreman", "builder", "'foreman' is no worker"),
        ("auto", "worker", "'auto' is no worker"),
    ],
)
def test_a_name_that_cannot_stand_there_is_one_clear_line(text: str, role: Role, named: str) -> None:
    with pytest.raises(BadInput) as caught:
        EngineSpec.parse(text, role)
    assert str(caught.value).startswith(named)


def test_the_name_of_an_engine_in_a_log_may_be_unknown() -> None:
    assert (EngineKind.of("foreman:claude"), EngineKind.of("something new"), EngineKind.of(None)) == (
        FOREMAN,
        None,
        None,
    )
    names = ("native", "foreman", "foreman:claude", "external", "auto", "something new")
    assert [is_ours(name) for name in names] == [True, True, False, False, False, False]
