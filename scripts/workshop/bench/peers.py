"""The peers that the benchmark compares with, each in an environment of its own.

They are installed on request only, exactly as `requirements-NAME.txt` pins them;
where that cannot be done, or one does not start, the others go on without it.
"""

import contextlib
import json
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from workshop import environments
from workshop.bench import machine
from workshop.bench.children import Worker
from workshop.bench.sides import Proxy
from workshop.bench.traffic import HOST
from workshop.child import START, ChildError
from workshop.ports import free_port

HERE = Path(__file__).resolve().parent
_PORT = re.compile(r"^listens on port (\d+)$")
_LITELLM = "import sys; from litellm import run_server; sys.exit(run_server())"
# Of its own accord it fetches a price list, and wants a key for its users.
_LITELLM_ENV = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
    "LITELLM_LOG": "ERROR",
    "DISABLE_ADMIN_UI": "True",
}
_KEPT_ENV = ("LITELLM_", "OPENAI_", "DATABASE_", "REDIS_")


def lock(name: str) -> Path:
    """Return what pins all that the peer *name* needs."""
    return HERE / f"requirements-{name}.txt"


def environment(name: str) -> Path:
    """Return the python of the peer's environment, which is made if need be.

    Raises:
        EnvironmentLackingError: It cannot be made.
    """
    folder = environments.python_folder(f"bench-{name}", lock(name))
    environments.make_python(folder, lock(name))
    return environments.python_in(folder)


def flask(python: Path, provider: int, folder: Path) -> tuple[Worker, int]:
    """Start the line proxy."""
    script = str(HERE / "flask_proxy.py")
    # By its path: that environment has none of our modules.
    command = [str(python), script, f"http://{HOST}:{provider}"]
    child = Worker("the Flask proxy", command, folder)
    child.start()
    try:
        return child, int(child.find(_PORT)[1])
    except BaseException:
        child.stop()
        raise


def litellm(python: Path, provider: int, folder: Path) -> tuple[Worker, int]:
    """Start LiteLLM's proxy."""
    parameters = {
        "model": "openai/bench",
        "api_base": f"http://{HOST}:{provider}/v1",
        "api_key": "bench",
    }
    models = [{"model_name": "bench", "litellm_params": parameters}]
    settings = folder / "litellm.yaml"
    # JSON is YAML, too.
    settings.write_text(json.dumps({"model_list": models}), encoding="utf-8")
    port = free_port()
    command = [str(python), "-c", _LITELLM, "--config", str(settings)]
    command += ["--host", HOST, "--port", str(port)]
    child = Worker("LiteLLM's proxy", command, folder, _LITELLM_ENV, without=_KEPT_ENV)
    child.start()
    try:
        _wait_until_it_listens(child, port)
    except BaseException:
        child.stop()
        raise
    return child, port


STARTS: dict[str, Callable[[Path, int, Path], tuple[Worker, int]]] = {
    "flask": flask,
    "litellm": litellm,
}


@contextlib.contextmanager
def running(
    names: Sequence[str],
    provider: int,
    folder: Path,
    cpus: machine.Cpus,
    report: Callable[[str], None],
) -> Iterator[dict[str, Proxy]]:
    """Run those of *names* that can be had, and end them whatever happens.

    Args:
        names: Which peers.
        provider: The provider's port.
        folder: Where their files go.
        cpus: Where they run.
        report: Called with a sentence about each that is unavailable.
    """
    with contextlib.ExitStack() as stack:
        found = {}
        for name in names:
            home = folder / name
            home.mkdir()
            try:
                child, port = STARTS[name](environment(name), provider, home)
            except (environments.EnvironmentLackingError, ChildError) as error:
                last = "; ".join(list(getattr(error, "lines", ()))[-2:])
                report(
                    f"{name} is not measured: {error}" + (f" ({last})" if last else "")
                )
                continue
            stack.callback(child.stop)
            machine.pin(child.pid, cpus.proxies)
            found[name] = Proxy(child, port)
        yield found


def _wait_until_it_listens(child: Worker, port: int) -> None:
    end = time.monotonic() + 2 * START
    while time.monotonic() < end:
        child.check(bugs=False)  # it writes tracebacks of what does not stop it
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), 1):
            return
        time.sleep(0.1)
    sentence = f"{child.name} did not listen within {2 * START:.0f} s."
    raise ChildError(sentence, child.lines)
