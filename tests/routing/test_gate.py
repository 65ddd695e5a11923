import shlex
from pathlib import Path

import pytest
from mitmproxy import http
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import tflow

from llm_normalize import conformance
from llm_normalize.routing.gate import (
    is_asked,
    is_list,
    is_plain,
    key_refused,
    not_found,
    refusal,
    refused,
    wants_key,
    warn,
)
from llm_normalize.routing.keys import Secret
from llm_normalize.routing.known_providers import HOSTS
from proxies import messages

TOKEN = Secret("env:A_TOKEN")


@pytest.fixture(autouse=True)
def given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "token-0815")


def asking(
    token: str, method: str = "POST", path: str = "/v1/chat/completions"
) -> http.Request:
    request = tflow.tflow().request
    request.method, request.path = method, path
    request.headers["authorization"] = f"Bearer {token}"
    return request


@pytest.mark.parametrize(
    ("token", "method", "path", "status"),
    [
        ("token-0815", "POST", "/v1/chat/completions", None),
        ("token-0815", "GET", "/v1/models?x", None),
        ("token-0815", "GET", "/v1/models/", None),
        ("token-0815", "POST", "/v1/models", 404),
        ("token-0815", "GET", "/", 404),
        ("other", "POST", "/v1/chat/completions", 401),
        ("other", "GET", "/", 401),
    ],
)
def test_who_has_the_token_gets_what_is_served(
    token: str, method: str, path: str, status: int | None
) -> None:
    reported = refused(asking(token, method, path), TOKEN)
    assert (reported and reported.status_code) == status
    if reported is not None:
        assert conformance.check_error_body(reported.content or b"") == []


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("/v1/x", True),
        ("/v1//x?//", True),
        ("//evil.test/v1/x", False),
        ("/v1/%2e%2e/x", False),
    ],
)
def test_path_that_may_be_another_is_not_plain(path: str, plain: bool) -> None:
    assert is_plain(path) is plain


@pytest.mark.parametrize(
    ("mode", "refused"), [("regular", False), ("upstream:http://up.test:3128", True)]
)
def test_host_on_this_machine_is_another_one_behind_another_proxy(
    mode: str, refused: bool
) -> None:
    made = tflow.tflow()
    made.client_conn.proxy_mode = ProxyMode.parse(mode)
    made.request = http.Request.make("POST", "http://localhost:8000/v1/x")
    reported = key_refused(made, frozenset(), is_routed=False, is_known=True)
    assert (reported is not None) is refused


def test_errors_are_openais() -> None:
    assert b'"type":"server_error"' in (refusal(500, "No", None).content or b"")
    reported = not_found(asking("", "GET", "/a\x1b"))
    assert b"GET /a\\\\x1b" in (reported.content or b"")
    assert is_list(asking("", "GET", "/models"))
    assert is_asked(asking(""))


ARK = "/api/v3 /api/v3/bots /api/v3/batch /api/coding/v3"
AZURE = (
    "/openai/deployments/gpt-4o /openai/deployments/v3-large /openai/v1 /models "
    "/api/projects/P/openai/v1 /anthropic/v1"
)
BIGMODEL = "/api/paas/v4 /api/coding/paas/v4 /api/anthropic/v1"
DASHSCOPE = (
    "/compatible-mode/v1 /apps/anthropic/v1 /api/v2/apps/anthropic/v1 "
    "/api/v2/apps/protocols/compatible-mode/v1"
)
VERTEX = (
    "/v1/projects/P/locations/L/endpoints/openapi "
    "/v1beta1/projects/P/locations/L/endpoints/1234"
)
GATEWAY = (
    "compat openai groq/openai/v1 workers-ai/v1 anthropic/v1 cohere/compatibility/v1 "
    "azure-openai/RESOURCE/v3-large custom-x/api/v1 fireworks/inference/v1 "
    "google-ai-studio/v1beta/openai openrouter/api/v1 "
    "google-vertex-ai/v1/projects/P/locations/L/endpoints/openapi"
)
BASES = {
    "ai.api.nvidia.com": "/v1 /v1/gr/meta/llama-3.2-11b /v1/vlm/nvidia/neva-22b",
    "*.api.nvcf.nvidia.com": "/v1 /v2/nvcf/pexec/functions/0e5c-11/v1",
    "api.cloudflare.com": "/client/v4/accounts/ID/ai/v1",
    "gateway.ai.cloudflare.com": " ".join(
        f"/v1/ACCOUNT/GATEWAY/{end}" for end in GATEWAY.split()
    ),
    "api.cohere.ai": "/compatibility/v1",
    "api.cohere.com": "/compatibility/v1",
    "api.deepinfra.com": "/v1/openai",
    "api.deepseek.com": "'' /v1 /beta /anthropic/v1",
    "api.fireworks.ai": "/inference/v1",
    "api.githubcopilot.com": "'' /v1",
    "api.*.githubcopilot.com": "'' /v1",
    "models.github.ai": "/inference /orgs/ORG/inference",
    "models.inference.ai.azure.com": "'' /v1",
    "*.openai.azure.com": AZURE,
    "*.cognitiveservices.azure.com": AZURE,
    "*.services.ai.azure.com": AZURE,
    "*.api.baseten.co": "/environments/production/sync/v1",
    "generativelanguage.googleapis.com": "/v1beta/openai",
    "api.groq.com": "/openai/v1",
    "router.huggingface.co": "/v1 /novita/v3/openai /hf-inference/models/ORG/MODEL/v1",
    "api.avian.io": "/v1",
    "api.minimax.io": "/v1 /anthropic/v1",
    "api.minimaxi.com": "/v1 /anthropic/v1",
    "api.kimi.com": "/coding/v1",
    "api.moonshot.ai": "/v1 /anthropic/v1",
    "api.novita.ai": "/v3/openai /openai /openai/v1",
    "openrouter.ai": "/api/v1",
    "api.perplexity.ai": "'' /v1",
    "api.venice.ai": "/api/v1",
    "api.z.ai": BIGMODEL,
    "open.bigmodel.cn": BIGMODEL,
    "ark.*.volces.com": f"{ARK} /api/compatible/v1",
    "ark.*.bytepluses.com": ARK,
    "qianfan.baidubce.com": "/v2 /v2/coding /v2/ai_search",
    "api.stepfun.com": "/v1 /step_plan/v1",
    "api.xiaomimimo.com": "/v1 /anthropic/v1",
    "dashscope.aliyuncs.com": DASHSCOPE,
    "dashscope-intl.aliyuncs.com": DASHSCOPE,
    "dashscope-us.aliyuncs.com": DASHSCOPE,
    "*.dashscope.aliyuncs.com": DASHSCOPE,
    "*.maas.aliyuncs.com": DASHSCOPE,
    "opencode.ai": "/zen/v1 /zen/go/v1",
    "hyper.charm.land": "/v1 /api/v1/fantasy",
    "*.ml.cloud.ibm.com": "/ml/gateway/v1",
    "*.wxai.ibm.com": "/ml/gateway/v1",
    "bedrock-runtime.*.amazonaws.com": "/openai/v1",
    "bedrock-mantle.*.api.aws": "/v1 /openai/v1 /anthropic/v1",
    # Not opened unless the user names them.
    "api.runpod.ai": "/v2/ENDPOINT/openai/v1",
    "ACCOUNT.snowflakecomputing.com": "/api/v2/cortex/v1",
    "WORKSPACE.databricks.com": "/serving-endpoints",
    "localhost": "'' /v1 /v1.0 /v1-beta /v1.1/openai /api /v1/",
}
"""Base paths by host, an empty one as `''`; of a host without a row: `/v1`."""


def bases_of(host: str) -> list[str]:
    of_host = VERTEX if "aiplatform." in host else BASES.get(host, "/v1")
    return shlex.split(of_host)


@pytest.mark.parametrize("host", sorted({*HOSTS, *BASES}))
def test_key_serves_behind_the_base_paths_of_each_provider(host: str) -> None:
    for base in bases_of(host):
        for method, end in (
            ("POST", "/chat/completions"),
            ("POST", "//chat/completions?api-version=1"),
            ("GET", "/models/"),
        ):
            request = asking("", method, f"{base}{end}")
            request.host = host.replace("*", "region-1")
            asked = f"{host}{request.path}"
            assert wants_key(request, is_other=False, known=None), asked
            assert is_plain(request.path) or not base, asked
        for more in ("/organization", "/organization/v1/admin_api_keys"):
            request = asking("", "GET", f"{base or '/v1'}{more}/models")
            request.host = host.replace("*", "region-1")
            assert not wants_key(request, is_other=False, known=None), request.path


@pytest.mark.parametrize(
    ("mode", "host", "warned"),
    [
        ("reverse:https://a.test", "", True),
        ("reverse:https://a.test", "0.0.0.0", True),
        ("reverse:https://a.test", "127.0.0.1", False),
        ("reverse:https://a.test@127.0.0.1:0", "", False),
        ("reverse:https://a.test", "localhost", False),
        ("regular", "", True),
        ("regular", "192.0.2.7", True),
        ("regular", "::", True),
        ("regular", "127.0.0.2", False),
        ("regular@::1:0", "", False),
        ("upstream:http://a.test", "", True),
        ("socks5", "", True),
        ("local:curl", "", False),
    ],
)
@pytest.mark.parametrize("has_keys", [False, True])
def test_proxy_that_stands_open_is_warned_of(
    caplog: pytest.LogCaptureFixture, mode: str, host: str, warned: bool, has_keys: bool
) -> None:
    modes = [ProxyMode.parse(mode)]
    warn(modes, host, guarded=False, has_keys=has_keys)
    assert ["and its key" in each for each in messages(caplog)] == [has_keys] * warned
    repair = "normalize_gate" if "reverse" in mode else "--proxyauth NAME:PASSWORD"
    assert all(f"127.0.0.1, or {repair}." in each for each in messages(caplog))
    warn(modes, host, guarded=True, has_keys=has_keys)
    assert len(messages(caplog)) == int(warned)


def test_each_has_a_token_that_is_revoked_alone_and_goes_no_further(
    tmp_path: Path,
) -> None:
    file = tmp_path / "tokens"
    file.write_text("\n# the team\ntoken-anna # Anna\ntoken-ben\t# Ben\n")
    gate = Secret.parse(f"file:{file}", has_lines=True)
    for header, value in (
        ("authorization", "Bearer token-ben"),
        ("x-api-key", "token-ben"),
    ):
        request = asking("none", path="/v1/chat/completions?k=token-anna")
        request.headers[header] = value
        assert refused(request, gate) is None
        assert request.path == "/v1/chat/completions"
        assert not [each for each in request.headers.values() if "token" in each]
    file.write_text("token-anna # Anna\n")  # Ben has left
    assert refused(asking("token-anna"), gate) is None
    for token in ("token-ben", "#", "", "Anna"):
        assert refused(asking(token), gate) is not None
    request = asking("none", path="/v1/chat/completions?k=token-anna")
    request.headers["proxy-authorization"] = "Basic bWU6d29yZA=="
    assert refused(request, gate) is not None
    assert "proxy-authorization" not in request.headers  # nor saved
    assert "token-anna" not in request.path
    file.write_text("# nobody\n")
    request = asking("token-anna")
    request.headers["x-api-key"] = "token-ben"
    assert refused(request, gate) is not None
    assert not [each for each in request.headers.values() if "token" in each]
    with pytest.raises(ValueError, match="empty"):
        Secret.parse(f"file:{file}", has_lines=True)


def test_key_of_a_provider_has_one_line(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("key-one\nkey-two\n")
    with pytest.raises(ValueError, match="characters"):
        Secret.parse(f"file:{file}")
