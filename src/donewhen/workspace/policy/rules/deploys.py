"""Rules for clouds, clusters and containers: things that run on other machines or outside the sandbox."""

from donewhen.workspace.policy.rules.rule import Rule, operands, phrase, words
from donewhen.workspace.policy.ruling import Decision
from donewhen.workspace.policy.step import Step

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


_only_looks = phrase(_ENGINE_READS)


def _container(step: Step) -> bool:
    return bool(operands(step)) and not _only_looks(step)


RULES = (
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
        "talks to a cloud account",
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
