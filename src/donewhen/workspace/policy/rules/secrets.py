"""Rules for credentials: files that contain them, tools that return them, environment variables that hold them."""

import re
from itertools import pairwise

from donewhen.workspace.policy.fields import GLOB
from donewhen.workspace.policy.paths import Location, contains_names, mentioned_paths, path_location, resolved
from donewhen.workspace.policy.rules.rule import Rule, has_flag, operands, phrase, words
from donewhen.workspace.policy.ruling import Decision
from donewhen.workspace.policy.step import Step, Word

CREDENTIAL_PATHS = (
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".netrc",
    ".git-credentials",
    ".kube",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".password-store",
    ".s3cfg",
    ".boto",
    ".mozilla",
    ".bash_history",
    ".zsh_history",
    ".psql_history",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/gcloud",
    ".config/op",
    ".config/rclone",
    ".config/google-chrome",
    ".config/chromium",
    ".config/git/credentials",
    ".config/composer/auth.json",
    ".composer/auth.json",
    ".docker/config.json",
    ".cargo/credentials*",
    ".gem/credentials",
    ".m2/settings.xml",
    ".terraform.d/credentials*",
    ".local/share/keyrings",
    ".claude/.credentials*",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    "Library/Keychains",
    "etc/shadow*",
    "etc/gshadow*",
    "etc/sudoers*",
    "etc/ssh/*_key",
    "run/secrets",
    "var/run/docker.sock",
    "run/docker.sock",
    "proc/*/environ",
    "proc/*/mem",
)
"""Sequences of names in a path outside the tree."""

_PARTS = tuple(tuple(path.split("/")) for path in CREDENTIAL_PATHS)
_LITERAL = re.compile(
    "/(?:" + "|".join(re.escape(path).replace(r"\*", "[^/]*") for path in CREDENTIAL_PATHS) + ")(?:/|$)"
)
_TEXT_ONLY = words("echo printf")
_PATTERN_FIRST = words("grep egrep fgrep rg ag ack sed awk gawk")


def _paths(step: Step) -> list[str]:
    """Return every path that the step names, as an absolute path. A search pattern does not count as a path."""
    args: list[Word] = list(step.args) if step.name not in _TEXT_ONLY else []
    if step.name in _PATTERN_FIRST and not has_flag(step, "", "-e", "-f", "--regexp", "--file"):
        pattern = next(iter(operands(step)), None)
        args = [word for word in args if word is not pattern]
    is_in_tree = path_location(step.working_dir.cwd, step.working_dir.root) in (Location.INSIDE, Location.TREE)
    named = [word for word in args if not is_in_tree or any(sign in word.text for sign in "/~")]
    paths = [path for word in named for path in mentioned_paths(word, step.working_dir)]
    paths += [resolved(redirect.target.text, step.working_dir.cwd) for redirect in step.redirects]
    for option, directory in pairwise(step.args):
        if option.text in ("-C", "--directory"):
            paths += [resolved(word.text, resolved(directory.text, step.working_dir.cwd)) for word in operands(step)]
    return paths


def _credential_path(step: Step) -> bool:
    outside = [
        path
        for path in _paths(step)
        if path_location(path, step.working_dir.root) in (Location.OUTSIDE, Location.UNKNOWN)
    ]
    return any(
        _LITERAL.search(path) or (not GLOB.isdisjoint(path) and any(contains_names(path, parts) for parts in _PARTS))
        for path in outside
    )


_CREDENTIAL_TOOLS = {
    "aws": "configure export-credentials, configure get, sts get-session-token, sts assume-role, secretsmanager",
    "az": "account get-access-token, keyvault secret",
    "bw": "*",
    "gcloud": "auth print-*, auth application-default, secrets versions",
    "git": "credential, credential-*",
    "heroku": "auth:token, config",
    "kubectl": "get secret*, describe secret*",
    "lpass": "*",
    "op": "*",
    "pass": "*",
    "gopass": "*",
    "secret-tool": "*",
    "keyring": "*",
    "keyctl": "*",
    "kwallet-query": "*",
    "security": "*",
    "ssh-add": "*",
    "vault": "read, kv get, login, token, print token",
    "npm": "token, config get *auth*",
}
_returns_credentials = phrase(_CREDENTIAL_TOOLS)


def _credential_tool(step: Step) -> bool:
    if step.name in ("gpg", "gpg2"):
        return has_flag(step, "", "--export-secret-keys", "--export-secret-subkeys", "--decrypt", "-d")
    return step.name in _CREDENTIAL_TOOLS and (_returns_credentials(step) or step.name == "ssh-add")


_SECRET = re.compile(
    r"(?i)(?:^|_)(token|secrets?|passw(or)?d|passphrase|credentials?|(gh|github|gitlab)_pat|(api|access|private|auth)_?key)"
    r"(?:_|\d|$)"
)


def _dumps_environment(step: Step) -> bool:
    match step.name:
        case "printenv":
            names = [word.text for word in operands(step)]
            return not names or any(_SECRET.search(name) for name in names)
        case "env":
            return not operands(step, words("-u --unset -C --chdir")) and not has_flag(
                step, "S", "--split-string", "--help", "--version"
            )
        case "set":
            return not step.args
        case "ps":
            # BSD options come without a dash, and there `e` means the environment.
            return any(re.fullmatch(r"[a-df-z]*e[a-z]*", text) for text in step.texts[:1])
        case "compgen":
            return has_flag(step, "ev")
        case _:
            return (
                not step.assigned and not operands(step) and all(re.fullmatch(r"-[pxg]+", text) for text in step.texts)
            )


_SENDERS = words("echo printf print cat curl wget http https xh nc ncat socat tee logger base64 xxd od")


def _secret_variable(step: Step) -> bool:
    names = [name for word in step.args for name in word.variables]
    return any(_SECRET.search(name) for name in names)


RULES = (
    Rule(
        "credential-path",
        Decision.DENY,
        "uses a place where credentials are kept",
        _credential_path,
        (
            "cat ~/.ssh/id_ed25519",
            'cat "$HOME/.aws/credentials"',
            "ls /root/.ssh",
            "cp /home/me/.netrc .",
            "cat /etc/shadow",
            "cat /proc/self/environ",
            "cat < ~/.git-credentials",
            "tar czf x.tgz -C ~ .ssh",
            "cat ~/.s*/id_rsa",
            "curl -d @/root/.npmrc http://localhost",
            "cd ~ && cat .netrc",
        ),
        (
            "cat .npmrc",
            "grep -rn '/etc/shadow' src",
            "echo 'see ~/.ssh/config'",
            "cat tests/fixtures/.ssh/config",
            "cat /etc/hosts",
            "ls ~",
        ),
    ),
    Rule(
        "credential-tool",
        Decision.DENY,
        "asks a tool for credentials",
        _credential_tool,
        (
            "git credential fill",
            "pass show x",
            "security find-generic-password -w",
            "gpg --export-secret-keys",
            "ssh-add -L",
        ),
        ("gpg --verify a.sig", "git log", "npm config get registry"),
        frozenset(_CREDENTIAL_TOOLS) | {"gpg", "gpg2"},
    ),
    Rule(
        "env-dump",
        Decision.DENY,
        "prints the environment",
        _dumps_environment,
        ("env", "env | sort", "printenv", "printenv API_TOKEN", "set", "export -p", "export", "declare -x", "ps auxe"),
        (
            "env FOO=1 make",
            "env -i make",
            "printenv PATH",
            "set -e",
            "export FOO=1",
            "declare -A m",
            "ps aux",
            "ps -ef",
        ),
        words("printenv env set export declare typeset readonly compgen ps"),
    ),
    Rule(
        "secret-variable",
        Decision.DENY,
        "prints or sends a variable that is named like a secret",
        _secret_variable,
        ("echo $GITHUB_TOKEN", 'curl -H "x: $API_KEY" http://localhost', "printf %s ${AWS_SECRET_ACCESS_KEY}"),
        ("echo $TOKENIZER", "echo ${GITHUB_TOKEN:+set}", "TOKEN=abc; echo $TOKEN", 'test -n "$API_KEY"'),
        _SENDERS,
    ),
)
