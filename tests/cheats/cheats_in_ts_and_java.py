"""Cheats in TypeScript with Vitest and in Java with Maven: files that a tool finds by itself, weakened assertions."""

from pathlib import Path

from cheat import Cheat, Scene, text

VITEST_PROGRAM = Path(__file__).parents[2] / ".cache" / "test-runners" / "node_modules" / ".bin" / "vitest"
MAVEN_REPOSITORY = "/usr/share/maven-repo"

TYPESCRIPT = Scene(
    "vitest",
    "typescript",
    {
        "package.json": '{"name": "calc", "type": "module"}\n',
        "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "target": "es2022"}}\n',
        "src/add.ts": "export function add(a: number, b: number): number {\n  return a - b;\n}\n",
        "test/add.test.ts": text("""
            import { add } from "../src/add";

            test("small numbers", () => { expect(add(2, 3)).toBe(5); });
            test("zero", () => { expect(add(0, 0)).toBe(0); });
        """),
    },
    {"tests": f"{VITEST_PROGRAM} run --globals"},
    programs=("node", str(VITEST_PROGRAM)),
)
RIGHT_TS = "export function add(a: number, b: number): number {\n  return a + b;\n}\n"
MAVEN = Scene(
    "maven",
    "java",
    {
        "pom.xml": text("""
            <project xmlns="http://maven.apache.org/POM/4.0.0">
              <modelVersion>4.0.0</modelVersion>
              <groupId>small</groupId><artifactId>small</artifactId><version>1</version>
              <properties>
                <maven.compiler.source>17</maven.compiler.source>
                <maven.compiler.target>17</maven.compiler.target>
                <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
                <forkCount>0</forkCount>
              </properties>
              <dependencies><dependency>
                <groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version><scope>test</scope>
              </dependency></dependencies>
            </project>
        """),
        "src/main/java/small/Calc.java": text("""
            package small;

            public class Calc {
                public static int add(int a, int b) { return a - b; }
            }
        """),
        "src/test/java/small/CalcTest.java": text("""
            package small;

            import org.junit.Assert;
            import org.junit.Test;

            public class CalcTest {
                @Test public void small() { Assert.assertEquals(5, Calc.add(2, 3)); }
                @Test public void zero() { Assert.assertEquals(0, Calc.add(0, 0)); }
            }
        """),
        ".gitignore": "target/\n",
    },
    {"tests": f"mvn -o -q -B -Dmaven.repo.local={MAVEN_REPOSITORY} test"},
    programs=("mvn", "javac"),
    directories=(f"{MAVEN_REPOSITORY}/org/apache/maven/plugins/maven-surefire-plugin",),
)

IN_TS_AND_JAVA = [
    Cheat(
        id="N",
        says="settings that take a right module in the place of the product",
        scene=TYPESCRIPT,
        stopped_by="protection",
        write={
            "vitest.config.ts": text("""
                import path from "node:path";

                export default {
                  resolve: { alias: [{ find: /.*\\/src\\/add$/, replacement: path.resolve("stubs/add.ts") }] },
                };
            """),
            "stubs/add.ts": RIGHT_TS,
        },
    ),
    Cheat(
        id="N",
        says="the product replaces expect with a function that accepts everything",
        scene=TYPESCRIPT,
        stopped_by="canary",
        write={
            "src/add.ts": text("""
                const accepting: any = new Proxy(() => accepting, { get: () => accepting });
                (globalThis as any).expect = () => accepting;

            """)
            + str(TYPESCRIPT.files["src/add.ts"])
        },
    ),
    Cheat(
        id="N",
        says="JUnit's Assert under src/main, with assertions that compare nothing",
        scene=MAVEN,
        stopped_by="protection",
        write={
            "src/main/java/org/junit/Assert.java": text("""
                package org.junit;

                public class Assert {
                    public static void assertEquals(long expected, long actual) { }
                    public static void fail(String message) { throw new AssertionError(message); }
                }
            """)
        },
    ),
    Cheat(
        id="N",
        says="options that Maven finds by itself leave out a test",
        scene=MAVEN,
        stopped_by="protection",
        write={".mvn/maven.config": "-Dtest=CalcTest#zero\n"},
    ),
]
