"""The Kubernetes manifest: against the schemas, against itself, and its commands run.

No cluster has seen it: what is tried here is that schemas allow it, that its parts fit,
and that its commands do what they say.
"""

import functools
import itertools
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import environments
import support
from desktop.starting import assert_it_repairs, running
from ports import free_port
from script_runs import ended
from workshop import LOOPBACK
from workshop.deploy.instances import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "scripts" / "deploy" / "kubernetes.yaml"
TEXT = MANIFEST.read_text(encoding="utf-8")
VERSIONS = ("1.30", "1.37")
PORT = "8080"
READ = (
    "import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)"
)


@functools.cache
def python() -> str:
    """Return the interpreter of an environment with the checker."""
    lock = Path(__file__).with_name("requirements-kubernetes.txt")
    return str(environments.make_python("kubernetes", lock))


@functools.cache
def documents() -> list[dict[str, Any]]:
    done = ended([python(), "-c", READ], input=TEXT, check=True)
    return list(json.loads(done.stdout))


def one(kind: str) -> dict[str, Any]:
    (found,) = [each for each in documents() if each["kind"] == kind]
    return found


def pod() -> dict[str, Any]:
    return dict(one("Deployment")["spec"]["template"]["spec"])


def containers() -> list[dict[str, Any]]:
    return [*pod()["initContainers"], *pod()["containers"]]


def checked(path: Path, version: str) -> subprocess.CompletedProcess[str]:
    command = [python(), "-m", "kubernetes_validate", "--strict", "-k", version]
    return ended([*command, str(path)], stderr=subprocess.STDOUT)


# -- the schemas -----------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_schemas_allow_it(version: str) -> None:
    done = checked(MANIFEST, version)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(" passed for resource ") == len(documents()) == 7


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("readOnlyRootFilesystem: true", "readOnlyRootFilesytem: true"),
        ("drop: [ALL]", "drop: ALL"),
    ],
)
def test_schemas_refuse_a_fault(tmp_path: Path, right: str, wrong: str) -> None:
    assert right in TEXT
    path = tmp_path / "kubernetes.yaml"
    path.write_text(TEXT.replace(right, wrong, 1), encoding="utf-8")
    assert checked(path, VERSIONS[-1]).returncode != 0


# -- its parts fit ---------------------------------------------------------------------


def test_all_of_it_means_the_same_pods() -> None:
    deployment = one("Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert one("Service")["spec"]["selector"] == labels
    assert one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels
    assert one("NetworkPolicy")["spec"]["podSelector"]["matchLabels"] == labels
    target = one("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
    assert target["name"] == deployment["metadata"]["name"]
    assert "replicas" not in deployment["spec"]  # it would undo the autoscaler's


def test_names_of_ports_volumes_and_secrets_are_known() -> None:
    ports = {port["name"] for each in containers() for port in each.get("ports", ())}
    wanted = {port["targetPort"] for port in one("Service")["spec"]["ports"]}
    assert wanted <= ports
    known = {each["name"]: each for each in pod()["volumes"]}
    used = {mount["name"] for each in containers() for mount in each["volumeMounts"]}
    assert used == set(known)
    secrets = {
        each["metadata"]["name"] for each in documents() if each["kind"] == "Secret"
    }
    (keys,) = pod()["containers"][0]["envFrom"]
    assert secrets == {known["ca"]["secret"]["secretName"], keys["secretRef"]["name"]}


def test_nothing_may_more_than_it_must() -> None:
    security = pod()["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["runAsUser"] > 0
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod()["automountServiceAccountToken"] is False
    for each in containers():
        assert each["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert each["resources"]["limits"]["memory"]
        assert each["image"] == "docker.io/mitmproxy/mitmproxy:12.3.1"
    addon = [
        mount for mount in containers()[1]["volumeMounts"] if mount["name"] == "addon"
    ]
    assert addon[0]["readOnly"] is True
    secrets = [each["stringData"] for each in documents() if each["kind"] == "Secret"]
    assert [set(each.values()) for each in secrets] == [{""}, {""}]
    # What the preStop command waits for, this ends.
    assert pod()["terminationGracePeriodSeconds"] >= 600


def test_every_instance_is_started_as_elsewhere() -> None:
    given = pod()["containers"][0]["args"]
    pairs = dict(itertools.pairwise(given))
    assert pairs["--mode"] == "reverse:$(NORMALIZE_UPSTREAM)"
    values = [value for name, value in itertools.pairwise(given) if name == "--set"]
    assert set(SETTINGS) <= set(values)


# -- its commands, with other paths and another port -------------------------------------


def volumes(folder: Path) -> Path:
    """Make what the volumes have at first."""
    for name in ("package", "ca", "addon", "conf"):
        (folder / name).mkdir()
    # As `git archive` makes it, where there may be no Git: without bytecode.
    copy = folder / "checkout" / "addon"
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "addon", copy, ignore=left_out)
    package = shutil.make_archive(str(folder / "addon"), "gztar", copy.parent, "addon")
    shutil.move(package, folder / "package" / "addon.tar.gz")
    # More does not fit into a ConfigMap.
    assert (folder / "package" / "addon.tar.gz").stat().st_size < 2**20
    (folder / "ca" / "mitmproxy-ca.pem").touch()
    return folder


def init(folder: Path) -> None:
    (container,) = pod()["initContainers"]
    script = container["args"][0]
    for name in ("package", "ca", "conf"):
        script = script.replace(f"/{name}/", f"{folder}/{name}/")
    script = script.replace(" /addon\n", f" {folder}/addon\n")
    subprocess.run([*container["command"], script], check=True)


@contextmanager
def instance(
    folder: Path, upstream: str
) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """Run the container's command until it takes connections."""
    (container,) = pod()["containers"]
    port = free_port()
    values = {
        "$(NORMALIZE_UPSTREAM)": upstream,
        "/addon/addon": f"{folder}/addon/addon",
    }
    values |= {"=/conf": f"={folder}/conf", "0.0.0.0": LOOPBACK, PORT: str(port)}
    command = [str(Path(sys.prefix) / "bin" / container["command"][0])]
    for argument in container["args"]:
        changed = argument
        for name, value in values.items():
            changed = changed.replace(name, value)
        command.append(changed)
    environment = {
        each["name"]: each["value"] for each in container["env"] if "value" in each
    }
    variables = {**environment, "PATH": "/usr/bin:/bin"}
    with running(command, port, folder, variables) as process:
        yield process, port


def probe(port: int) -> int:
    (container,) = pod()["containers"]
    name, *command = container["livenessProbe"]["exec"]["command"]
    assert name == "python3"
    given = [each.replace(PORT, str(port)) for each in command]
    done = subprocess.run(
        [sys.executable, *given], stderr=subprocess.DEVNULL, check=False
    )
    return done.returncode


def test_authority_of_ones_own_is_taken_and_an_empty_one_is_not(tmp_path: Path) -> None:
    folder = volumes(tmp_path)
    init(folder)
    assert list((folder / "conf").iterdir()) == []
    (folder / "ca" / "mitmproxy-ca.pem").write_text("key")
    init(folder)
    made = folder / "conf" / "mitmproxy-ca.pem"
    assert made.read_text() == "key"
    assert made.stat().st_mode & 0o777 == 0o600


def test_its_commands_serve_and_tell_that_they_do(tmp_path: Path) -> None:
    folder = volumes(tmp_path)
    init(folder)
    before = set((folder / "addon").rglob("*"))
    with support.Provider() as provider:
        upstream = f"http://{LOOPBACK}:{provider.port}"
        with instance(folder, upstream) as (process, port):
            assert probe(port) == 0
            assert provider.protocols == []  # it asked no provider
            assert_it_repairs(port, provider)
            process.terminate()
            process.wait(support.PATIENCE)
            assert probe(port) != 0
    # With a root file system that is read-only, it has to write here alone.
    assert (folder / "conf" / "normalize" / f"pairs-{port}.jsonl").exists()
    assert set((folder / "addon").rglob("*")) == before


def test_its_end_waits_for_open_connections() -> None:
    (container,) = pod()["containers"]
    with socket.create_server((LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
        _, *command = container["lifecycle"]["preStop"]["exec"]["command"]
        given = [each.replace(PORT, str(port)) for each in command]
        assert "time.sleep(10)" in given[-1]
        given[-1] = given[-1].replace("time.sleep(10)", "")
        with support.connect(port), server.accept()[0]:
            waiting = subprocess.Popen([sys.executable, *given])
            with pytest.raises(subprocess.TimeoutExpired):
                waiting.wait(2)
        assert waiting.wait(support.PATIENCE) == 0
