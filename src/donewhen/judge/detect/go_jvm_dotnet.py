"""Finders for Go, the JVM and .NET: one test command each, with options that avoid network access."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from donewhen.judge.detect.package import Package
from donewhen.judge.detect.proposal import FoundCheck, Hint, Kind

GO_MANIFESTS = ("go.mod",)
MAVEN_MANIFESTS = ("pom.xml",)
GRADLE_MANIFESTS = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
DOTNET_MANIFESTS = ("*.sln", "*.slnx", "*.csproj", "*.fsproj")
COMPILING_SECS = 600


def find_go(package: Package) -> Iterator[FoundCheck | Hint]:
    path = package.path("go.mod")
    test = next(package.below("*_test.go"), "")
    if test:
        yield _found(package, "tests", "go", "go test ./...", f"{path} is the module and {test} contains tests")
    else:
        yield _found(package, "build", "go", "go build ./...", f"{path} is the module; no test was found")
    config = package.first(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json")
    if config and package.programs("golangci-lint"):
        yield _found(package, "lint", "golangci-lint", "golangci-lint run", f"golangci-lint is set up in {config}")
    if re.search(r"^[^\S\n]*+require\b", package.text("go.mod"), re.MULTILINE) and not _go_modules_are_here(package):
        yield Hint(f"the modules that {path} requires are not on this machine: run `go mod download` first")


def _go_modules_are_here(package: Package) -> bool:
    gopath = Path(os.environ.get("GOPATH") or Path(os.path.expanduser("~"), "go"))
    return package.survey.has_directory(package.path("vendor")) or (gopath / "pkg" / "mod").is_dir()


def find_maven(package: Package) -> Iterator[FoundCheck | Hint]:
    program = "./mvnw" if package.has("mvnw") else "mvn"
    path, test = package.path("pom.xml"), _java_test(package)
    wrapper = " through its wrapper" if program == "./mvnw" else ""
    if test:
        why = f"{path} is built by Maven{wrapper} and {test} contains tests"
        yield _found(package, "tests", "maven", f"{program} -o -B -q test", why)
    else:
        why = f"{path} is built by Maven{wrapper}; no test was found"
        yield _found(package, "build", "maven", f"{program} -o -B -q compile", why)


def find_gradle(package: Package) -> Iterator[FoundCheck | Hint]:
    program = "./gradlew" if package.has("gradlew") else "gradle"
    path, test = package.first(*GRADLE_MANIFESTS), _java_test(package)
    wrapper = " through its wrapper" if program == "./gradlew" else ""
    if test:
        why = f"{path} is built by Gradle{wrapper} and {test} contains tests"
        yield _found(package, "tests", "gradle", f"{program} --offline --no-daemon test", why)
    else:
        why = f"{path} is built by Gradle{wrapper}; no test was found"
        yield _found(package, "build", "gradle", f"{program} --offline --no-daemon classes", why)


def _java_test(package: Package) -> str:
    """Return a test of the whole build, modules included; empty if there is none."""
    inside = package.survey.below(package.dir, "*Test.java", "*Tests.java", "*Test.kt", "*Spec.groovy", "*Test.scala")
    return next(inside, "")


def find_dotnet(package: Package) -> Iterator[FoundCheck | Hint]:
    solution = next(package.survey.named(package.dir, "*.sln", "*.slnx"), "")
    projects = package.survey.below(package.dir, "*.csproj", "*.fsproj")
    test = next((path for path in projects if "Microsoft.NET.Test.Sdk" in package.survey.text(path)), "")
    where = solution or next(package.survey.named(package.dir, "*.csproj", "*.fsproj"), package.dir)
    if test:
        why = f"{where} is built by .NET and {test} is a test project"
        yield _found(package, "tests", "dotnet", "dotnet test --no-restore", why)
    else:
        why = f"{where} is built by .NET; no test project was found"
        yield _found(package, "build", "dotnet", "dotnet build --no-restore", why)


def _found(package: Package, kind: Kind, runner: str, command: str, why: str) -> FoundCheck:
    return FoundCheck(kind=kind, runner=runner, command=command, dir=package.dir, why=why, timeout_secs=COMPILING_SECS)
