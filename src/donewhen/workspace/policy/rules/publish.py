"""Rules against publishing and deploying: code forges, package and image registries, clouds, clusters, containers.

What they act on runs on other machines, or outside the sandbox.
"""

import re

from donewhen.workspace.policy.rules.rule import Rule, has_flag, operands, phrase, words
from donewhen.workspace.policy.ruling import Decision
from donewhen.workspace.policy.step import Step

FORGE_READS = {
    "gh": "pr view, pr list, pr ls, pr diff, pr status, pr checks, issue view, issue list, issue ls, issue status, "
    "repo view, repo list, run view, run list, run watch, run download, release view, release list, release download, "
    "workflow view, workflow list, search, status, auth status, label list, gist view, gist list, cache list, "
    "ruleset view, ruleset list, variable list, config get, config list, help, version, completion, api",
    "glab": "mr view, mr list, mr diff, issue view, issue list, ci view, ci list, ci status, ci trace, ci lint, "
    "pipeline list, repo view, repo list, repo search, release view, release list, label list, snippet view, "
    "auth status, config get, help, version, completion, api",
    "hub": "ci-status, pr list, pr show, issue show, release show, gist show, help, version, api",
    "tea": "pulls list, issues list, releases list, repos list, labels list, whoami, help",
}
_HUB_OWN = words("pull-request fork create delete gist sync browse compare issue pr release api alias ci-status")
_reads = phrase(FORGE_READS)


def _forge(step: Step) -> bool:
    first = next((word.text for word in operands(step, words("-R --repo --hostname"))), "")
    if not first or (step.name == "hub" and first not in _HUB_OWN):
        return False
    if first == "api":
        return has_flag(step, "fF", "--field", "--raw-field", "--form", "--input") or _method(step) not in (
            "",
            "GET",
            "HEAD",
        )
    return not _reads(step) or has_flag(step, "", "--show-token")


def _method(step: Step) -> str:
    """Return the request method given to `api`; empty if none is given."""
    texts = step.texts
    for index, text in enumerate(texts):
        if text in ("-X", "--method"):
            return "".join(texts[index + 1 : index + 2]).upper()
        if text.startswith(("-X", "--method=")):
            return text.removeprefix("--method=").removeprefix("-X").upper()
    return ""


PUBLISH = {
    "anaconda": "upload",
    "bun": "publish",
    "cabal": "upload",
    "cargo": "publish, yank, owner, login, release",
    "changeset": "publish",
    "composer": "publish",
    "dart": "pub publish",
    "dotnet": "nuget push, nuget delete",
    "flit": "publish",
    "flutter": "pub publish",
    "gem": "push, yank, owner, signin",
    "goreleaser": "release, publish",
    "hatch": "publish",
    "helm": "push, registry login",
    "hex": "publish",
    "jreleaser": "*release*, deploy, publish, upload",
    "lerna": "publish",
    "luarocks": "upload",
    "maturin": "publish, upload",
    "mix": "hex.publish",
    "npm": "publish, unpublish, dist-tag add, dist-tag rm, deprecate, owner add, owner rm, access, login, adduser",
    "nuget": "push, delete",
    "ovsx": "publish",
    "pdm": "publish",
    "pnpm": "publish",
    "pod": "trunk push",
    "poetry": "publish",
    "rake": "release",
    "stack": "upload",
    "twine": "upload, register",
    "uv": "publish",
    "vsce": "publish, unpublish",
    "yarn": "publish, npm publish, npm login",
}
_publishes = phrase(PUBLISH)
_RELEASERS = words("semantic-release np release-it auto-dist-tag gh-pages surge git-publish")
_BUILDERS = words("mvn mvnw gradle gradlew sbt lein")
_GOALS = ("deploy", "publish", "upload", "release:perform", "clojars", "nexus")


def _package(step: Step) -> bool:
    if step.name in _RELEASERS:
        return "--dry-run" not in step.texts
    args = [word.text for word in operands(step)]
    if step.name in _BUILDERS:
        return (
            any(task.rpartition(":")[2].startswith(_GOALS) and not task.endswith("ToMavenLocal") for task in args)
            or "release:perform" in args
        )
    if step.name == "setup.py" or step.name.startswith("python"):
        return args[:1] == ["setup.py"] and "upload" in args
    return _publishes(step)


_TASKS = words("deploy publish release push upload ship")
_RUNNERS = words("make gmake just task rake invoke npm pnpm yarn bun")


def _task(step: Step) -> bool:
    """Match a project task whose name says that it publishes something. What it really does is unknown."""
    args = [word.text for word in operands(step, words("-C -f -j --prefix --filter"))]
    if step.name in ("npm", "pnpm", "yarn", "bun"):
        args = args[1:2] if args[:1] in (["run"], ["run-script"]) else []
    return any(re.split(r"[:-]", target)[0] in _TASKS for target in args if "=" not in target)


IMAGES = {
    **dict.fromkeys(
        ("docker", "podman", "nerdctl", "buildah"),
        "push, login, image push, manifest push, compose push, trust sign, plugin push",
    ),
    "crane": "push, copy, cp, tag, delete, append, mutate",
    "oras": "push, copy, cp, attach, login",
    "skopeo": "copy, sync, delete, login",
    "regctl": "image copy, image import, tag delete",
    "cosign": "sign, attest, attach",
}
_pushes_image = phrase(IMAGES)


DEPLOYS = {
    "ansible": "*",
    "ansible-playbook": "*",
    "aws": "s3 cp, s3 mv, s3 sync, s3 rm, s3api put-*, s3api delete-*, lambda update-*, lambda invoke, ssm put-*, "
    "cloudformation deploy, ecr *, ecs update-*, ec2 run-*, ec2 terminate-*, iam *",
    "az": "webapp *, functionapp *, acr *, deployment *",
    "cap": "* deploy",
    "cdk": "deploy, destroy",
    "eb": "deploy, create, terminate",
    "fastlane": "*",
    "firebase": "deploy",
    "fly": "deploy, launch, secrets",
    "flyctl": "deploy, launch, secrets",
    "gcloud": "app deploy, run deploy, functions deploy, builds submit, compute *, iam *",
    "gsutil": "cp, mv, rm, rsync",
    "heroku": "*",
    "helm": "install, upgrade, uninstall, rollback, delete",
    "kubectl": "apply, create, delete, edit, patch, replace, scale, rollout, set, drain, cordon, exec, run, cp, label, "
    "annotate",
    "mkdocs": "gh-deploy",
    "mike": "deploy, delete",
    "netlify": "deploy",
    "pulumi": "up, update, destroy, import, refresh",
    "railway": "up, deploy",
    "rclone": "copy, sync, move, delete, purge, copyto, moveto, rcat",
    "serverless": "deploy, remove",
    "sls": "deploy, remove",
    "terraform": "apply, destroy, import, taint, untaint, state rm, state mv, state push, workspace delete",
    "tofu": "apply, destroy, import, taint, untaint, state rm, state mv, state push, workspace delete",
    "vercel": "deploy, --prod, link, env, rm, remove, alias, promote",
    "wrangler": "deploy, publish, delete, secret, pages deploy, r2, kv:key put",
}
_CLOUDS = words(
    "aws az doctl fly flyctl gcloud gsutil kubectl netlify oci rclone vercel wrangler railway linode-cli hcloud"
)
_LOCAL = {
    **dict.fromkeys(_CLOUDS, "version, help"),
    "kubectl": "version, help, config view, config current-context, kustomize, explain",
}


_stays_local = phrase(_LOCAL)


def _cloud(step: Step) -> bool:
    return bool(operands(step)) and not _stays_local(step)


_ENGINES = words("docker podman nerdctl docker-compose podman-compose")
_ENGINE_READS = {
    **dict.fromkeys(
        ("docker", "podman", "nerdctl"),
        "ps, images, version, info, inspect, logs, help, image ls, container ls, volume ls, network ls, "
        "context ls, compose config, compose ps, compose version, compose logs, history, top, port, stats",
    ),
    **dict.fromkeys(("docker-compose", "podman-compose"), "config, ps, version, logs"),
}


_only_reads = phrase(_ENGINE_READS)


def _container(step: Step) -> bool:
    return bool(operands(step)) and not _only_reads(step)


RULES = (
    Rule(
        "forge",
        Decision.DENY,
        "changes something on a code host such as GitHub; only reading is allowed",
        _forge,
        (
            "gh pr create --fill",
            "gh pr merge 3",
            "gh api -X DELETE repos/a/b",
            "gh api repos/a/b/issues -f title=x",
            "gh auth token",
            "glab mr create",
            "hub pull-request -m x",
        ),
        (
            "gh pr view 3",
            "gh -R a/b issue list",
            "gh run view 5 --log",
            "gh api repos/a/b",
            "glab ci status",
            "gh --version",
        ),
        frozenset(FORGE_READS),
    ),
    Rule(
        "package-publish",
        Decision.DENY,
        "publishes a package",
        _package,
        (
            "npm publish",
            "npm --prefix web publish --access public",
            "yarn npm publish",
            "twine upload dist/*",
            "python -m twine upload dist/*",
            "cargo publish",
            "poetry publish --build",
            "uv publish",
            "gem push x.gem",
            "mvn -q clean deploy",
            "./gradlew :lib:publish",
            "npx semantic-release",
            "python setup.py sdist upload",
        ),
        (
            "npm run build",
            "npm pack",
            "twine check dist/*",
            "cargo package",
            "mvn verify",
            "gradle build",
            "./gradlew publishToMavenLocal",
        ),
        frozenset(PUBLISH) | _RELEASERS | _BUILDERS | words("python python3 setup.py"),
    ),
    Rule(
        "publish-task",
        Decision.ASK,
        "runs a task of the project that seems to publish something",
        _task,
        ("make deploy", "npm run publish:docs", "yarn run release", "just release"),
        ("make test", "npm run build", "make -C docs html", "npm run test:push"),
        _RUNNERS,
    ),
    Rule(
        "image-push",
        Decision.DENY,
        "publishes an image",
        lambda step: _pushes_image(step) or (has_flag(step, "", "--push")),
        (
            "docker push a/b",
            "podman image push a",
            "docker buildx build --push .",
            "skopeo copy a b",
            "docker -H x push a",
        ),
        ("docker ps", "docker build .", "docker images"),
        frozenset(IMAGES),
    ),
    Rule(
        "deploy",
        Decision.DENY,
        "changes something that is deployed",
        phrase(DEPLOYS),
        (
            "kubectl -n x apply -f a.yaml",
            "terraform apply",
            "aws s3 cp a s3://b",
            "helm upgrade a b",
            "firebase deploy",
        ),
        ("kubectl get pods", "terraform plan", "helm template .", "aws s3 ls", "terraform fmt"),
        frozenset(DEPLOYS),
    ),
    Rule(
        "cloud",
        Decision.ASK,
        "uses a cloud account",
        _cloud,
        ("aws s3 ls", "gcloud projects list", "kubectl get pods"),
        ("aws --version", "kubectl version --client", "kubectl kustomize ."),
        _CLOUDS,
    ),
    Rule(
        "container",
        Decision.ASK,
        "starts or changes containers, which run outside the sandbox",
        _container,
        ("docker run --rm -v /:/host alpine", "docker compose up -d", "podman exec a ls", "docker build ."),
        ("docker ps", "docker --version", "docker compose config"),
        _ENGINES,
    ),
)
