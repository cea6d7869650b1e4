"""Databases and queues that the tests of a project may need. They are reported to a person, never opened unasked."""

import re
from collections.abc import Iterator, Mapping

from donewhen.judge.detect.survey import Survey
from donewhen.records import frozen

COMPOSE = ("docker-compose*.yml", "docker-compose*.yaml", "compose*.yml", "compose*.yaml")
EXAMPLES = (".env.example", ".env.sample", ".env.template", ".env.test", "example.env")
IMAGE = re.compile(r"^\s*(?:-\s*)?image:\s*[\"']?(?:\S*/)?(\w+)")
ASSIGNED = re.compile(r"^\s*(?:export\s+)?([A-Z][A-Z0-9_]*)\s*=\s*[\"']?(\w+)://")
SERVICES: Mapping[str, tuple[str, int]] = {
    "postgres": ("PostgreSQL", 5432),
    "postgresql": ("PostgreSQL", 5432),
    "postgis": ("PostgreSQL", 5432),
    "pgvector": ("PostgreSQL", 5432),
    "redis": ("Redis", 6379),
    "valkey": ("Redis", 6379),
    "mysql": ("MySQL", 3306),
    "mariadb": ("MySQL", 3306),
    "mongo": ("MongoDB", 27017),
    "mongodb": ("MongoDB", 27017),
    "amqp": ("RabbitMQ", 5672),
    "rabbitmq": ("RabbitMQ", 5672),
}


@frozen
class DetectedService:
    name: str
    port: int
    where: str
    variable: str = ""
    """The environment variable with its address; empty if there is none."""


def services(survey: Survey) -> tuple[DetectedService, ...]:
    """Return each service that files of the repository name, once, with its variable if there is one."""
    found: dict[str, DetectedService] = {}
    for service in _named(survey):
        known = found.get(service.name)
        if known is None or (service.variable and not known.variable):
            found[service.name] = service
    return tuple(found.values())


def _named(survey: Survey) -> Iterator[DetectedService]:
    workflows = [*survey.named(".github/workflows", "*.yml", "*.yaml"), *survey.named(".", ".gitlab-ci.yml")]
    for path in (*survey.named(".", *COMPOSE), *workflows):
        yield from _matching(survey, path, IMAGE)
    for path in survey.named(".", *EXAMPLES):
        yield from _matching(survey, path, ASSIGNED)


def _matching(survey: Survey, path: str, pattern: re.Pattern[str]) -> Iterator[DetectedService]:
    for number, line in enumerate(survey.text(path).splitlines(), 1):
        match = pattern.match(line)
        if match is None:
            continue
        kind = match.groups()[-1].lower()
        if kind in SERVICES:
            name, port = SERVICES[kind]
            yield DetectedService(name, port, f"{path}:{number}", match[1] if pattern is ASSIGNED else "")


def hint(service: DetectedService) -> str:
    lines = f'reach = ["localhost:{service.port}"]'
    if service.variable:
        lines += f', env = ["{service.variable}"]'
    return f"{service.where} names {service.name}; if the checks need it, add to [workspace]: {lines}"


def wider_keys(found: tuple[DetectedService, ...]) -> dict[str, tuple[str, ...]]:
    """Return the keys of `[workspace]` that all of these services need."""
    keys = {
        "reach": tuple(f"localhost:{service.port}" for service in found),
        "env": tuple(service.variable for service in found if service.variable),
    }
    return {key: values for key, values in keys.items() if values}
