"""Known providers: the hosts that are opened, base URLs, and where a key usually is.

Read on Python 3.8, too, before a checkout has its environment: see scripts/run.py.
"""

from __future__ import annotations

import difflib
from urllib.parse import urlsplit

CHAT = "/chat/completions"

# Of Google Cloud, whose hosts are `REGION-aiplatform.googleapis.com`.
_REGIONS = (
    "africa-south1", "asia-east1", "asia-east2", "asia-northeast1", "asia-northeast2",
    "asia-northeast3", "asia-south1", "asia-southeast1", "asia-southeast2",
    "australia-southeast1", "australia-southeast2", "europe-central2", "europe-north1",
    "europe-southwest1", "europe-west1", "europe-west10", "europe-west2", "europe-west3", "europe-west4",
    "europe-west6", "europe-west8", "europe-west9", "europe-west12", "me-central1",
    "me-central2", "me-west1", "northamerica-northeast1", "northamerica-northeast2", "northamerica-south1",
    "southamerica-east1", "southamerica-west1", "us-central1", "us-east1", "us-east4",
    "us-east5", "us-south1", "us-west1", "us-west2", "us-west3", "us-west4",
)  # fmt: skip
# Of LiteLLM's OpenAI-compatible endpoints, those that serve nothing else.
_OTHERS = (
    "ai-gateway.helicone.ai", "api-inference.modelscope.cn", "api.abliteration.ai", "api.aiand.com",
    "api.clfaigateway.dev", "api.cortecs.ai", "api.darkbloom.dev", "api.empiriolabs.ai",
    "api.endpoints.anyscale.com", "api.featherless.ai", "api.friendli.ai", "api.galadriel.ai",
    "api.gmi-serving.com", "api.inceptionlabs.ai", "api.inference.wandb.ai", "api.inferenceapis.com",
    "api.lambda.ai", "api.libertai.io", "api.llama.com", "api.llamagate.dev", "api.morphllm.com",
    "api.neosantara.xyz", "api.openinfer.ai", "api.parasail.io", "api.poe.com", "api.prisminference.com",
    "api.publicai.co", "api.refuseless.com", "api.reka.ai", "api.sailresearch.com", "api.scaleway.ai",
    "api.scx.ai", "api.stima.tech", "api.studio.nebius.ai", "api.synthetic.new", "api.v0.dev",
    "api.zerogpu.ai", "codestral.mistral.ai", "gigachat.devices.sberbank.ru", "inference.api.nscale.com",
    "inference.coralbricks.ai", "inference.runanywhere.ai", "llm-gateway.assemblyai.com",
    "router.hostinger.com", "serverless.tensormesh.ai", "vanchin.streamlake.ai",
)  # fmt: skip
HOSTS = (
    "integrate.api.nvidia.com",
    "ai.api.nvidia.com",
    "*.api.nvcf.nvidia.com",
    "api.cerebras.ai",
    "api.cloudflare.com",
    "gateway.ai.cloudflare.com",
    "api.cohere.ai",
    "api.cohere.com",
    "api.deepinfra.com",
    "api.deepseek.com",
    "api.doubleword.ai",
    "api.fireworks.ai",
    "api.githubcopilot.com",
    "api.*.githubcopilot.com",
    "models.github.ai",
    "models.inference.ai.azure.com",
    "*.openai.azure.com",
    "*.cognitiveservices.azure.com",
    "*.services.ai.azure.com",
    "inference.baseten.co",
    "*.api.baseten.co",
    "generativelanguage.googleapis.com",
    "aiplatform.googleapis.com",
    "aiplatform.*.rep.googleapis.com",
    *(f"{region}-aiplatform.googleapis.com" for region in _REGIONS),
    "api.groq.com",
    "router.huggingface.co",
    "api-inference.huggingface.co",
    "*.endpoints.huggingface.cloud",
    "api.hyperbolic.xyz",
    "api.avian.io",
    "api.minimax.io",
    "api.minimaxi.com",
    "api.minimax.chat",
    "api.mistral.ai",
    "api.moonshot.ai",
    "api.moonshot.cn",
    "api.kimi.com",
    "api.studio.nebius.com",
    "api.tokenfactory.nebius.com",
    "api.novita.ai",
    "openrouter.ai",
    "api.perplexity.ai",
    "api.sambanova.ai",
    "api.siliconflow.cn",
    "api.siliconflow.com",
    "api.together.xyz",
    "api.together.ai",
    "api.venice.ai",
    "ai-gateway.vercel.sh",
    "api.x.ai",
    "api.z.ai",
    "open.bigmodel.cn",
    "ark.*.volces.com",
    "ark.*.bytepluses.com",
    "api.hunyuan.cloud.tencent.com",
    "qianfan.baidubce.com",
    "api.stepfun.com",
    "api.stepfun.ai",
    "api.xiaomimimo.com",
    "token-plan-cn.xiaomimimo.com",
    "token-plan-sgp.xiaomimimo.com",
    "token-plan-ams.xiaomimimo.com",
    "dashscope.aliyuncs.com",
    "dashscope-intl.aliyuncs.com",
    "dashscope-us.aliyuncs.com",
    "*.dashscope.aliyuncs.com",
    "*.maas.aliyuncs.com",
    "llm.chutes.ai",
    "opencode.ai",
    "hyper.charm.land",
    "*.inference.heroku.com",
    "*.ml.cloud.ibm.com",
    "*.wxai.ibm.com",
    "bedrock-runtime.*.amazonaws.com",
    "bedrock-mantle.*.api.aws",
    "api.inference.crusoecloud.com",
    "ollama.com",
    *_OTHERS,
)
"""Hosts that serve chat/completions nearly, but not quite, as OpenAI does.

Not those that carry much else, such as a database's (Databricks, Snowflake): opening
them would lock out clients that do not trust mitmproxy's CA. (Vertex AI's carry more,
too, but its OpenAI endpoint has no host of its own.)
"""

# Name: base URL, and the variable that usually has its key.
PROVIDERS = {
    "cerebras": ("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "cohere": ("https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY"),
    "dashscope": (
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
    ),
    "deepinfra": ("https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "fireworks": ("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "gemini": (
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
    ),
    "github": ("https://models.github.ai/inference", "GITHUB_TOKEN"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "huggingface": ("https://router.huggingface.co/v1", "HF_TOKEN"),
    "hyperbolic": ("https://api.hyperbolic.xyz/v1", "HYPERBOLIC_API_KEY"),
    "lmstudio": ("http://127.0.0.1:1234/v1", ""),
    "minimax": ("https://api.minimax.io/v1", "MINIMAX_API_KEY"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "moonshot": ("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    "nebius": ("https://api.tokenfactory.nebius.com/v1", "NEBIUS_API_KEY"),
    "nvidia": ("https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
    "ollama": ("http://127.0.0.1:11434/v1", ""),
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "perplexity": ("https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    "sambanova": ("https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY"),
    "siliconflow": ("https://api.siliconflow.com/v1", "SILICONFLOW_API_KEY"),
    "together": ("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "venice": ("https://api.venice.ai/api/v1", "VENICE_API_KEY"),
    "vercel": ("https://ai-gateway.vercel.sh/v1", "AI_GATEWAY_API_KEY"),
    "vllm": ("http://127.0.0.1:8000/v1", ""),
    "xai": ("https://api.x.ai/v1", "XAI_API_KEY"),
    "zai": ("https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
}

A_MINUTE = {"integrate.api.nvidia.com": 40}
"""How many requests of one key some take in a minute, by host."""


def base_of(place: str) -> str:
    """Return the base URL of a provider whose *place* is known: a URL without its path.

    A provider that is not in the list has OpenAI's own path, as most do.
    """
    url = place if "://" in place else f"https://{place}"
    host = urlsplit(url).netloc
    known = (base for base, _ in PROVIDERS.values() if urlsplit(base).netloc == host)
    return next(known, f"{url.rstrip('/')}/v1")


def variable_of(base: str) -> str:
    """Return the variable that usually has a provider's key; empty if unknown."""
    return next((name for url, name in PROVIDERS.values() if url == base), "")


def named(given: str) -> str:
    """Return the base URL that a name or a URL stands for; empty if it is neither."""
    if given in PROVIDERS:
        return PROVIDERS[given][0]
    try:
        parts = urlsplit(given)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_url = is_url and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url or parts.query or parts.fragment or parts.username is not None:
        return ""
    path = parts.path.rstrip("/")
    if path.endswith(CHAT):
        path = path[: -len(CHAT)]
    origin = f"{parts.scheme}://{parts.netloc}"
    return origin + path if path else base_of(origin)


def unknown(given: str) -> str:
    """Return what is wrong with a provider that was *given*; a URL is not quoted."""
    if "/" in given:
        return "invalid --provider: expected a name, or a URL such as https://host/v1"
    near = difflib.get_close_matches(given.lower(), PROVIDERS, 1)
    meant = f"did you mean {near[0]}?" if near else "doctor --list prints the names"
    return f"unknown provider {given}: {meant}"
