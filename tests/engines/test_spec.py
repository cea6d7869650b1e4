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
        ("", "engine", "unknown engine ''; use auto, native, external, foreman, planned"),
        ("claude", "engine", "unknown engine 'claude'"),
        ("native:x", "engine", "unknown engine 'native:x'"),
        ("auto:", "engine", "unknown engine 'auto:'"),
        ("external:", "engine", "unknown engine 'external:'"),
        ("planned:planned", "engine", "unknown builder 'planned'; use native, auto, external, foreman or an agent"),
        ("planned:native:x", "engine", "unknown builder 'native:x'"),
        ("foreman:native:x", "engine", "unknown worker 'native:x'; use native, external or an agent"),
        ("foreman:foreman", "builder", "unknown worker 'foreman'"),
        ("auto", "worker", "unknown worker 'auto'"),
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
