"""Pairs of sources by language: one in which a name may occur twice, and a similar one in which it may not.

Each pair is (topic, the valid text, the text with a duplicate, the duplicate name).
"""

from donewhen.syntax.grammar import LanguageName

Pair = tuple[str, str, str, str]

PYTHON: list[Pair] = [
    (
        "overloads",
        "@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...\ndef f(a): pass\n",
        "@overload\ndef f(a: int): ...\ndef f(a): pass\ndef f(a): pass\n",
        "f",
    ),
    (
        "typing.overload",
        "@typing.overload\ndef f(a: int): ...\ndef f(a): pass\n",
        "@cache\ndef f(a): ...\ndef f(a): pass\n",
        "f",
    ),
    (
        "properties",
        "class A:\n    @property\n    def x(self): ...\n"
        "    @x.setter\n    def x(self, v): ...\n    @x.deleter\n    def x(self): ...\n",
        "class A:\n    @property\n    def x(self): ...\n"
        "    @x.setter\n    def x(self, v): ...\n    @x.setter\n    def x(self, v): ...\n",
        "A.x",
    ),
    (
        "dispatch",
        "@f.register\ndef _(a: int): ...\n@f.register\ndef _(a: str): ...\n",
        "def g(a: int): ...\ndef g(a: str): ...\n",
        "g",
    ),
    (
        "registered under a name",
        "@f.register(int)\ndef g(a): ...\n@f.register(str)\ndef g(a): ...\n",
        "@f.other(int)\ndef g(a): ...\n@f.other(str)\ndef g(a): ...\n",
        "g",
    ),
    (
        "type checking",
        "if TYPE_CHECKING:\n    class A: ...\nelse:\n    class A: ...\n",
        "class A: ...\nclass A: ...\n",
        "A",
    ),
    (
        "import errors",
        "try:\n    def f(): ...\nexcept ImportError:\n    def f(): ...\n",
        "try:\n    def f(): ...\n    def f(): ...\nfinally: pass\n",
        "f",
    ),
    (
        "two tries",
        "try:\n    def f(): ...\nfinally: pass\ntry:\n    def f(): ...\nfinally: pass\n",
        "def f(): ...\ntry: pass\nfinally: pass\ndef f(): ...\n",
        "f",
    ),
    (
        "default and special",
        "def f(): ...\nif WINDOWS:\n    def f(): ...\n",
        "if W:\n    def f(): ...\nif W:\n    def f(): ...\n",
        "f",
    ),
    (
        "assignments",
        "x = 1\nx = 2\nclass A:\n    y = 1\n    y = 2\n",
        "class A:\n    def y(self): ...\n    def y(self): ...\n",
        "A.y",
    ),
    (
        "scopes",
        "def f():\n    def g(): ...\ndef h():\n    def g(): ...\nclass A:\n    def g(self): ...\n",
        "def g(): ...\nasync def g(): ...\n",
        "g",
    ),
    ("deleted", "def f(): ...\nx = f()\ndel f\ndef f(): ...\n", "def f(): ...\nx = f()\ndef f(): ...\n", "f"),
]

JAVASCRIPT: list[Pair] = [
    (
        "scopes",
        "function a() { function f() {} }\nfunction b() { function f() {} }\n",
        "function f() {}\nfunction f() {}\n",
        "f",
    ),
    ("var", "var a = 1;\nvar a = 2;\n", "const a = 1;\nconst a = 2;\n", "a"),
    (
        "accessors",
        "class A { get x() { return 1 } set x(v) {} }\n",
        "class A { get x() { return 1 } get x() { return 2 } }\n",
        "A.x",
    ),
    ("static and not", "class A { m() {} static m() {} }\n", "class A { m() {} m() {} }\n", "A.m"),
    ("branches", "if (a) { function f() {} } else { function f() {} }\n", "function f() {}\nconst f = () => 1;\n", "f"),
    (
        "exports set later",
        "exports.x = void 0;\nexports.x = 1;\n",
        "exports.x = function () {};\nexports.x = function () {};\n",
        "x",
    ),
    ("blocks", "try { let a = 1 } catch (e) { let a = 2 }\n", "let a = 1;\nlet a = 2;\n", "a"),
    ("classes", "class A { m() {} }\nclass B { m() {} }\n", "class A { m() {} }\nclass A { m() {} }\n", "A"),
]

TYPESCRIPT: list[Pair] = [
    (
        "overloads",
        "function f(a: string): void;\nfunction f(a: number): void;\nfunction f(a: any) {}\n",
        "function f(a: string): void;\nfunction f(a: any) {}\nfunction f(a: any) {}\n",
        "f",
    ),
    (
        "overloads of methods",
        "class A { m(a: string): void; m(a: number): void; m(a: any) {} }\n",
        "class A { m(a: string) {} m(a: number) {} }\n",
        "A.m",
    ),
    ("merged interfaces", "interface A { x: 1 }\ninterface A { y: 1 }\n", "interface A { x: 1; x: 1 }\n", "A.x"),
    (
        "namespace and class",
        "class A {}\nnamespace A { export const x = 1 }\n",
        "namespace A { export const x = 1; export const x = 2 }\n",
        "A.x",
    ),
    (
        "namespace and function",
        "function f() {}\nnamespace f { export const x = 1 }\n",
        "function f() {}\nfunction f() {}\nnamespace f {}\n",
        "f",
    ),
    ("namespace and enum", "enum E { A }\nnamespace E { export const x = 1 }\n", "enum E { A }\nenum E { B }\n", "E"),
    ("type and value", "type A = string;\nconst A = 1;\n", "type A = string;\ntype A = number;\n", "A"),
    ("interface and class", "interface A { x: 1 }\nclass A {}\n", "export class A {}\nexport class A {}\n", "A"),
]

GO: list[Pair] = [
    ("init", "package p\nfunc init() {}\nfunc init() {}\n", "package p\nfunc f() {}\nfunc f() {}\n", "f"),
    ("blank", "package p\nvar _ = 1\nvar _ = 2\nfunc _() {}\nfunc _() {}\n", "package p\nvar a = 1\nvar a = 2\n", "a"),
    (
        "receivers",
        "package p\nfunc (a A) m() {}\nfunc (b B) m() {}\n",
        "package p\nfunc (a A) m() {}\nfunc (a *A) m() {}\n",
        "A.m",
    ),
    ("function and method", "package p\nfunc m() {}\nfunc (b B) m() {}\n", "package p\nfunc m() {}\nvar m = 1\n", "m"),
    ("groups", "package p\nconst (\n A = 1\n B = 2\n)\n", "package p\nconst (\n A = 1\n)\nconst A = 2\n", "A"),
]

RUST: list[Pair] = [
    (
        "two traits",
        "impl A for T { fn f() {} }\nimpl B for T { fn f() {} }\n",
        "impl A for T { fn f() {} fn f() {} }\n",
        "T.f",
    ),
    (
        "generics",
        "impl T<u8> { fn f() {} }\nimpl T<u16> { fn f() {} }\n",
        "impl T<u8> { fn f() {} }\nimpl T<u8> { fn f() {} }\n",
        "T.f",
    ),
    ("cfg", "#[cfg(a)]\nfn f() {}\n#[cfg(not(a))]\nfn f() {}\n", "#[inline]\nfn f() {}\nfn f() {}\n", "f"),
    (
        "cfg on impl",
        "#[cfg(a)]\nimpl T { fn f() {} }\n#[cfg(b)]\nimpl T { fn f() {} }\n",
        "struct T;\nenum T {}\n",
        "T",
    ),
    ("inherent twice", "impl T { fn f() {} }\nimpl T { fn g() {} }\n", "impl A for T {}\nimpl A for T {}\n", "T"),
    ("modules", "mod a { fn f() {} }\nmod b { fn f() {} }\n", "mod a;\nmod a;\n", "a"),
    (
        "macros",
        "macro_rules! m { () => {} }\nmacro_rules! m { () => {} }\n",
        "const M: u8 = 1;\nconst M: u8 = 1;\n",
        "M",
    ),
]

JAVA: list[Pair] = [
    (
        "overloads",
        "class A { void f(int a) {} void f(String a) {} void f() {} }",
        "class A { void f(int a) {} void f(int b) {} }",
        "A.f",
    ),
    (
        "erasure",
        "class A { void f(List<A> a) {} void f(Set<A> a) {} }",
        "class A { void f(List<A> a) {} void f(List<B> a) {} }",
        "A.f",
    ),
    (
        "varargs",
        "class A { void f(int a) {} void f(int... a) {} }",
        "class A { void f(int[] a) {} void f(int... a) {} }",
        "A.f",
    ),
    ("constructors", "class A { A() {} A(int a) {} }", "class A { A() {} A() {} }", "A.A"),
    ("field and method", "class A { int f; int f() { return f; } }", "class A { int f; String f; }", "A.f"),
    ("inner", "class A { class B {} }\nclass C { class B {} }", "class A { class B {} interface B {} }", "A.B"),
]

C: list[Pair] = [
    (
        "prototypes",
        "int f(int a);\nint f(int a);\nint f(int a) { return a; }\n",
        "int f(int a) { return a; }\nint f(int a) { return a; }\n",
        "f",
    ),
    (
        "branches",
        "#if X\nint f(void) { return 1; }\n#else\nint f(void) { return 2; }\n#endif\n",
        "#if X\nint f(void) { return 1; }\nint f(void) { return 2; }\n#endif\n",
        "f",
    ),
    ("forward", "struct s;\nstruct s { int a; };\nstruct s;\n", "struct s { int a; };\nstruct s { int a; };\n", "s"),
    ("tentative", "int x;\nint x;\nextern int x;\n", "enum e { A };\nenum e { B };\n", "e"),
    ("typedefs", "typedef struct s { int a; } s;\ntypedef struct s s;\n", "struct s { int a; int a; };\n", "s.a"),
    ("macros", "#define M 1\n#undef M\n#define M 2\n", "#define M 1\n#define M 2\n", "M"),
    (
        "macros that make functions",
        "START_TEST(one) { }\nSTART_TEST(two) { }\n",
        "START_TEST(one) { }\nSTART_TEST(one) { }\n",
        "START_TEST(one)",
    ),
]

CPP: list[Pair] = [
    (
        "overloads",
        "void f(int a) {}\nvoid f(char a) {}\nvoid f(int a, int b) {}\n",
        "void f(int a) {}\nvoid f(int b) {}\n",
        "f",
    ),
    (
        "const",
        "struct A { int f() { return 1; } int f() const { return 1; } };",
        "struct A { int f() { return 1; } int f() { return 2; } };",
        "A.f",
    ),
    (
        "declared inside, defined outside",
        "struct A { int f(); };\nint A::f() { return 1; }\n",
        "int A::f() { return 1; }\nint A::f() { return 2; }\n",
        "A.f",
    ),
    (
        "specialisations",
        "template <class T> struct A {};\ntemplate <> struct A<int> {};\n",
        "template <class T> struct A {};\ntemplate <class T> struct A {};\n",
        "A",
    ),
    (
        "templates",
        "template <class T> A<T> f(T a) {}\ntemplate <class T> B<T> f(T a) {}\n",
        "template <class T> T f(T a) {}\ntemplate <class T> T f(T b) {}\n",
        "f",
    ),
    (
        "namespaces",
        "namespace a { void f() {} }\nnamespace b { void f() {} }\n",
        "namespace a { void f() {} }\nnamespace a { void f() {} }\n",
        "a.f",
    ),
    (
        "reopened",
        "namespace a { int x; }\nnamespace a { int y; }\n",
        "namespace a { int x; }\nnamespace a { int x; }\n",
        "a.x",
    ),
    ("extern", "extern int x;\nint x;\n", "int x = 1;\nint x = 2;\n", "x"),
]

RUBY: list[Pair] = [
    (
        "reopened",
        "class A\n  def f; end\nend\nclass A\n  def g; end\nend\n",
        "class A\n  def f; end\nend\nclass A\n  def f; end\nend\n",
        "A.f",
    ),
    (
        "of the class and of objects",
        "class A\n  def f; end\n  def self.f; end\nend\n",
        "class A\n  def self.f; end\n  class << self\n    def f; end\n  end\nend\n",
        "A.f",
    ),
    ("branches", "if X\n  def f; end\nelse\n  def f; end\nend\n", "def f; end\ndef f; end\n", "f"),
    (
        "attributes",
        "class A\n  attr_reader :x\n  def x=(v); end\nend\n",
        "class A\n  def x; end\n  def x; end\nend\n",
        "A.x",
    ),
    ("undefined", "class A\n  def f; end\n  undef_method :f\n  def f; end\nend\n", "X = 1\nX = 2\n", "X"),
    (
        "kept as another",
        "class A\n  def f; end\n  alias_method :g, :f\n  def f; end\nend\n",
        "class A\n  def g; end\n  def f; end\n  alias_method :g, :f\n  def g; end\nend\n",
        "A.g",
    ),
]

PHP: list[Pair] = [
    (
        "conditional",
        "<?php\nif (A) { function f() {} } else { function f() {} }\n",
        "<?php\nfunction f() {}\nfunction f() {}\n",
        "f",
    ),
    (
        "namespaces",
        "<?php\nnamespace A;\nclass C {}\nnamespace B;\nclass C {}\n",
        "<?php\nnamespace A;\nclass C {}\nclass C {}\n",
        "C",
    ),
    (
        "with braces",
        "<?php\nnamespace A { class C {} }\nnamespace B { class C {} }\n",
        "<?php\nnamespace A { class C {} }\nnamespace A { class C {} }\n",
        "A.C",
    ),
    (
        "members",
        "<?php\nclass A { public $f; const f = 1; function f() {} }\n",
        "<?php\nclass A { function f() {} function f() {} }\n",
        "A.f",
    ),
    ("kinds", "<?php\nfunction c() {}\nclass c {}\n", "<?php\ntrait C {}\ninterface C {}\n", "C"),
]

PAIRS: dict[LanguageName, list[Pair]] = {
    "python": PYTHON,
    "javascript": JAVASCRIPT,
    "typescript": TYPESCRIPT,
    "tsx": [pair for pair in TYPESCRIPT if "overloads" in pair[0]],
    "go": GO,
    "rust": RUST,
    "java": JAVA,
    "c": C,
    "cpp": CPP,
    "ruby": RUBY,
    "php": PHP,
}
