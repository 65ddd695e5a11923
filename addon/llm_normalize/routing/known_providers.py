"""Known providers: where they are, and where their key usually is.

Read on Python 3.8, too, before a checkout has its environment: see scripts/run.py.
"""

from __future__ import annotations

import difflib
from urllib.parse import urlsplit

CHAT = "/chat/completions"

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
