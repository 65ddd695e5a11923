"""mitmproxy addon: changes options, runs commands and counts objects while mitmdump runs."""

import gc
import json
import logging
from collections import Counter
from typing import Any

from mitmproxy import ctx, http, tls

KEEPS_ANSWERS = (
    "llm_normalize.repair.engine.pipeline",
    "llm_normalize.exchange.state.running_answer",
    "llm_normalize.exchange.record.answer_record",
)
"""Modules whose objects stand for an answer."""


def tls_clienthello(data: tls.ClientHelloData) -> None:
    """Offer both protocols upstream, whatever the client speaks: the provider picks."""
    data.context.server.alpn_offers = (b"h2", b"http/1.1")


def census() -> Counter[str]:
    """Count the living objects that stand for an answer."""
    gc.unfreeze()  # what the addon has a collection skip is neither freed nor listed
    gc.collect()
    gc.unfreeze()
    kinds = map(type, gc.get_objects())
    return Counter(
        kind.__name__
        for kind in kinds
        if kind is http.HTTPFlow or kind.__module__ in KEEPS_ANSWERS
    )


def answer(asked: dict[str, Any]) -> Any:
    """Do what is asked, and return what comes of it."""
    if "set" in asked:
        return ctx.options.update(**asked["set"])
    if "get" in asked:
        return getattr(ctx.options, asked["get"])
    if "census" in asked:
        return census()
    if "say" in asked:
        return logging.getLogger(__name__).info(asked["say"])
    return ctx.master.commands.execute(asked["command"])


def request(flow: http.HTTPFlow) -> None:
    """Answer what is posted to `workshop.mitmdump.CONTROL_URL`."""
    if flow.request.path != "/_control":
        return
    try:
        found = {"answer": answer(json.loads(flow.request.content or b""))}
    except Exception as error:  # noqa: BLE001 - the one who asked gets it
        found = {"error": str(error)}
    flow.response = http.Response.make(200, json.dumps(found))
