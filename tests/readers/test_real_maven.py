"""A real run of Maven with Debian's offline repository: every case is a module, because each start is slow."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from real import Ran, left_in, run

from donewhen.judge.runners import InstrumentedCommand, canary, instrument_command, read
from donewhen.readers.result import Tests
from donewhen.workspace.beneath import Root
from needs import leave_out, needs
from repositories import write

REPOSITORY = Path("/usr/share/maven-repo")
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
COMMAND = f"mvn -o -B -fae -Dmaven.repo.local={REPOSITORY} -DargLine='{LIGHT}' test"
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>small</groupId><artifactId>{name}</artifactId><version>1</version>{more}</project>"""
PARENT = """<packaging>pom</packaging><modules>{modules}</modules><properties>
<maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties><dependencies><dependency>
<groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version><scope>test</scope>
</dependency></dependencies>"""
CHILD = "<parent><groupId>small</groupId><artifactId>small</artifactId><version>1</version></parent>"
IN_PROCESS = "<properties><forkCount>0</forkCount></properties>"
"""Surefire waits for seconds at the end of each virtual machine that it forks; only the case that dies needs one."""
CLASS = "package small;\nimport org.junit.*;\npublic class ATest {{ @Test public void one() {{ {one} }}\n{two} }}\n"
FORGES = """System.out.println("Tests run: 5, Failures: 0, Errors: 0, Skipped: 0");
var reports = java.nio.file.Path.of(System.getProperty("basedir"), "target", "surefire-reports");
try { java.nio.file.Files.createDirectories(reports);
java.nio.file.Files.writeString(reports.resolve("TEST-small.Fake.xml"),
"<testsuite>" + "<testcase name='t' classname='Fake'/>".repeat(5) + "</testsuite>"); }
catch (java.io.IOException e) { throw new RuntimeException(e); }"""
KILLS = """try { new ProcessBuilder("kill", "-9", "" + ProcessHandle.current().pid()).start().waitFor(); }
catch (Exception e) { throw new RuntimeException(e); }"""
MODULES = {
    "pass": CLASS.format(one="", two="@Test public void two() {}"),
    "fail": CLASS.format(one="", two="@Test public void two() { Assert.fail(); }"),
    "zero": "",
    "skipped": CLASS.format(one="", two="@Ignore @Test public void two() {}"),
    "killed": CLASS.format(one="", two=f"@Test public void two() {{ {KILLS} }}"),
    "forged": CLASS.format(one=FORGES, two="@Test public void two() { Assert.fail(); }"),
    "canary": CLASS.format(one="", two=""),
}
TOKEN = "c0ffee5ea1"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    needs("mvn")
    needs("javac")
    if not (REPOSITORY / "org/apache/maven/plugins/maven-surefire-plugin").is_dir():
        leave_out("libsurefire-java")
    modules = "".join(f"<module>{name}</module>" for name in MODULES)
    write(tmp_path / "small", {"pom.xml": POM.format(name="small", more=PARENT.format(modules=modules))})
    for name, test in MODULES.items():
        files = {"pom.xml": POM.format(name=name, more=CHILD + ("" if name == "killed" else IN_PROCESS))}
        write(tmp_path / "small" / name, files | ({"src/test/java/small/ATest.java": test} if test else {}))
    yield tmp_path / "small"
    shutil.rmtree(tmp_path / "small")


@pytest.mark.sample(0)
def test_a_real_run_of_maven_is_read_module_by_module(
    project: Path, tmp_path: Path, show_table: Callable[[str], None]
) -> None:
    instrumented = instrument_command("mvn test", Root(project / "canary"), "/sidecar")
    bird = canary(instrumented, Root(project), "canary", TOKEN)
    assert bird is not None
    write(project, dict(bird.files))
    ran = run(project, COMMAND, {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "MAVEN_OPTS": LIGHT})
    found = {name: read({}, left_in(project / name), printed_for(name, ran.output), instrumented) for name in MODULES}
    cells = {name: Ran(0, b"", *(reading or (None, ""))).cell for name, reading in found.items()}
    show_table(f"{'maven':<10}" + "".join(f"{f'{name} {cells[name]}':<26}" for name in MODULES))

    counts = {name: reading[0].tests for name, reading in found.items() if reading}
    assert counts["pass"] == Tests(2, 2, 0, 0), ran.output.decode()
    assert {name for name, reading in found.items() if reading and not reading[0].complete} == {"killed"}
    assert counts["fail"] == counts["forged"] == Tests(2, 1, 1, 0)
    assert counts["zero"] == Tests()
    assert counts["skipped"] == Tests(2, 1, 0, 1)
    named = {name: reading[0].ran for name, reading in found.items() if reading}
    assert named["pass"] == named["fail"] == ("small.ATest.one", "small.ATest.two")
    assert named["skipped"] == ("small.ATest.one",)
    forged, shown = found["forged"], found["canary"]
    assert forged and forged[1] == "text", "a report that the tested code could have written must not count"
    assert shown and all(test.name in "\n".join(shown[0].failures) for test in bird.tests)


def test_maven_output_is_summed_over_the_modules() -> None:
    module = (
        "[INFO] --- maven-surefire-plugin:2.22.3:test (default-test) @ a ---\n"
        "Tests run: 9, Failures: 0, Errors: 0, Skipped: 0\n"
        "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.1 s - in a.ATest\n"
        "[INFO] Results:\n[INFO]\n[WARNING] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n"
    )
    found = read(
        {}, {}, (module * 2 + "[INFO] BUILD SUCCESS\n").encode(), InstrumentedCommand("mvn test", {}, ("maven",))
    )
    assert found and found[0].tests == Tests(6, 4, 0, 2)
    assert found[0].complete


def printed_for(module: str, output: bytes) -> bytes:
    """The output for one module, and its end; the reason for a dead virtual machine is at the very end."""
    text = re.sub(r"\x1b\[[\d;]*m", "", output.decode())
    part = re.search(
        rf"^\[INFO\] -+< small:{module} >-+$(.*?)^\[INFO\] (?:-+<|Reactor)", text, re.MULTILINE | re.DOTALL
    )
    assert part, text
    end = text[text.index("Reactor Summary") :].splitlines()
    about = [line for line in end if " BUILD " in line or module == "killed"]
    return "\n".join([part[1], *about]).encode()
