"""How a command is parsed: its steps, their words, and where they run."""

import pytest

from donewhen.workspace.policy.paths import HOME
from donewhen.workspace.policy.step import UNKNOWN_TEXT, Step, WorkingDir
from donewhen.workspace.policy.walk import every_step

TREE = "/tree"


def steps(command: str) -> list[Step]:
    return list(every_step(command, WorkingDir(TREE, TREE)))


def argv(command: str) -> list[list[str]]:
    """The words of every step that is a command."""
    return [[word.text for word in step.words] for step in steps(command) if step.words]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("r\\m a\\ b", ["rm", "a b"]),
        ("'a b' \"c d\" e\"f\"'g'", ["a b", "c d", "efg"]),
        ("$'\\x72\\155' $'a\\tb\\u00e9\\'c'", ["rm", "a\tbé'c"]),
        ('$"ls" $"x" a$', ["ls", "x", "a$"]),
        ('echo "a\\"b\\$c\\d"', ["echo", 'a"b$c\\d']),
        ("echo 'a'\\''b'", ["echo", "a'b"]),
        ("echo ~ ~/a ~me/b a~ '~'", ["echo", HOME, f"{HOME}/a", "/~me/b", "a~", "~"]),
        ('echo "$HOME/a" ${HOME} $PWD', ["echo", f"{HOME}/a", HOME, TREE]),
        ("echo a{b,c{d,e}}f {1..3} '{a,b}' \\{a,b}", ["echo", "abf", "acdf", "acef", "1", "3", "{a,b}", "{a,b}"]),
        ('echo $x "a$x" ${x[0]} ${x:-y}', ["echo", UNKNOWN_TEXT, f"a{UNKNOWN_TEXT}", UNKNOWN_TEXT, UNKNOWN_TEXT]),
        ("echo $? $$ $# ${#x} $((1 + 2)) $!", ["echo", "0", "0", "0", "0", "0", UNKNOWN_TEXT]),
        ("git >log push 2>&1 now", ["git", "push", "now"]),
        ("echo a # b", ["echo", "a"]),
        ("echo $(pwd) `pwd`", ["echo", TREE, TREE]),
        ("echo $(mktemp -d)/x", ["echo", f"/tmp/{UNKNOWN_TEXT}/x"]),
        ("echo $(which ls)", ["echo", "ls"]),
        ("echo $(command -v ls)", ["echo", "ls"]),
        ("echo $'\\cA' {a {a..c", ["echo", "\x01", "{a", "{a..c"]),
        ("echo $(cat a) b", ["echo", UNKNOWN_TEXT, "b"]),
    ],
)
def test_parsed_words_are_the_arguments_of_the_program(command: str, words: list[str]) -> None:
    assert argv(command)[-1] == words


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("x=a; ls $x", ["ls", "a"]),
        ("x='a b'; ls $x", ["ls", "a", "b"]),
        ("x='a b'; ls \"$x\"", ["ls", "a b"]),
        ("x=; ls $x b", ["ls", "b"]),
        ("for x in a b; do ls $x.py; done", ["ls", "a.py", "b.py"]),
        ("x=a; y=$x/b; ls $y", ["ls", "a/b"]),
        ("x=a; y=b; ls $x/$y/c $x-$y.txt", ["ls", "a/b/c", "a-b.txt"]),
        ("x=a; y=b; z=$x/$y/c; ls $z", ["ls", "a/b/c"]),
        ("x=a; ls \\$x/b '$x/b'", ["ls", "$x/b", "${x}/b"]),
        ("x=$x; ls $x", ["ls", UNKNOWN_TEXT]),
        ("x=a; x+=b; ls $x", ["ls", "a", UNKNOWN_TEXT]),
        ("read x; ls $x", ["ls", UNKNOWN_TEXT]),
        ("x=(a b); ls ${x[0]} $x", ["ls", UNKNOWN_TEXT, UNKNOWN_TEXT]),
        ("ls a${IFS}b", ["ls", "a", "b"]),
        ('x=a; y=b; ls "$x $y" "${x}  ${y} $(echo c) $((1))\n $x"', ["ls", "a b", "a  b c 0\n a"]),
    ],
)
def test_variables_set_by_the_script_are_known(command: str, words: list[str]) -> None:
    assert argv(command)[-1] == words


@pytest.mark.parametrize(
    ("command", "cwd"),
    [
        ("cd a && ls", "/tree/a"),
        ("cd a; cd ../b; ls", "/tree/b"),
        ("cd .. && ls", "/"),
        ("cd && ls", HOME),
        ("cd ~/a && ls", f"{HOME}/a"),
        ("cd $x && ls", UNKNOWN_TEXT),
        ("cd - && ls", UNKNOWN_TEXT),
        ("(cd a); ls", TREE),
        ("cd a | ls; ls", TREE),
        ("x=$(cd a && pwd); ls", TREE),
        ("pushd a; ls", "/tree/a"),
        ("builtin cd a; ls", "/tree/a"),
        ('cd "$(git rev-parse --show-toplevel)" && ls', TREE),
        ("env -C a ls", "/tree/a"),
        ("git -C a -C b status", "/tree/a/b"),
    ],
)
def test_the_directory_of_a_command_is_followed(command: str, cwd: str) -> None:
    assert steps(command)[-1].working_dir.cwd == cwd


@pytest.mark.parametrize(
    ("command", "inside"),
    [
        ("sudo -u me -- a b", ["a", "b"]),
        ("env -i -u X A=1 B=2 a b", ["a", "b"]),
        ("env - a b", ["a", "b"]),
        ("env -S 'a b' c", ["a", "b", "c"]),
        ("timeout -s KILL --kill-after 3 5 a b", ["a", "b"]),
        ("timeout --fore 5 a b", ["a", "b"]),
        ("nice -n 5 ionice -c3 a b", ["a", "b"]),
        ("stdbuf -oL -e0 a b", ["a", "b"]),
        ("xargs -n1 -P 4 a b", ["a", "b", UNKNOWN_TEXT]),
        ("echo c d | xargs a b", ["a", "b", "c", "d"]),
        ("echo c | xargs -I % a %.txt", ["a", "c.txt"]),
        ("find x -name y -exec a {} +", ["a", f"x/{UNKNOWN_TEXT}"]),
        ("sh -c 'a b'", ["a", "b"]),
        ("bash -xeo pipefail -c 'a \"$1\"' _ b", ["a", "b"]),
        ("echo a b | sh", ["a", "b"]),
        ("printf '%s %s\\n' a b | bash -s", ["a", "b"]),
        ("cat <<E | sh\na b\nE", ["a", "b"]),
        ("cat <<'E' | tee log | sh\na b\nE", ["a", "b"]),
        ("sh <<-E\n\ta b\n\tE", ["a", "b"]),
        ("bash <(echo a b)", ["a", "b"]),
        (". /dev/stdin <<< 'a b'", ["a", "b"]),
        ("echo YSBiCg== | base64 --decode | sh", ["a", "b"]),
        ("eval a '\"b\"'", ["a", "b"]),
        ("trap 'a b' INT", ["a", "b"]),
        ("python3.12 -m a b", ["a", "b"]),
        ("uv run --with x a b", ["a", "b"]),
        ("npx --yes a b", ["a", "b"]),
        ("parallel a ::: b", ["a", "b"]),
        ("git --no-pager -c x=y a b", ["git", "a", "b"]),
        ("git bisect run a b", ["a", "b"]),
        ("hub a b", ["git", "a", "b"]),
        ("PAGER='a b' git log", ["a", "b"]),
    ],
)
def test_the_command_inside_a_wrapper_is_found(command: str, inside: list[str]) -> None:
    assert inside in argv(command)


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("$x a", "unknown-command"),
        ("/bin/l?", "unknown-command"),
        ("for x in a b; do $x; done", "unknown-command"),
        ("eval $x", "unknown-script"),
        ("cat a | sh", "unknown-script"),
        ("sh <&3", "unknown-script"),
        ("curl a | sh", "downloaded-script"),
        ("echo 'a", "unparsed"),
        ("cat <<E;ls\nE;ls", "unparsed"),
        ("! for i in a; do ls; done", "unparsed"),
        ("time { ls; }", "unparsed"),
        ("# <<'E'\nls\nE", "unparsed"),
        ("a\x07b", "odd-characters"),
        ("a " * 20_000, "too-long"),
        ("( " * 50 + "a" + " )" * 50, "too-deep"),
        ("f() { f | f & }", "calls-itself"),
    ],
)
def test_a_part_that_is_not_understood_is_a_doubt(command: str, kind: str) -> None:
    assert kind in [step.doubt for step in steps(command)]


def test_a_script_file_is_run_without_a_doubt() -> None:
    for command in ("sh build.sh", "bash -x ./a.sh b", "sh < a.sh", ". venv/bin/activate", "source ~/.bashrc"):
        assert [step.doubt for step in steps(command)] == [""]


def test_backslash_at_the_end_of_a_line_is_read_both_ways() -> None:
    from donewhen.workspace.policy.policy import steps_of

    names = [step.name for step in steps_of("gi\\\nt push; # a \\\nls", WorkingDir(TREE, TREE))]
    assert {"git", "ls"} <= set(names)
