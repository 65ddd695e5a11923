"""Every answer of every peer, without the addon and with it, on the wire and to clients."""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx

import environments
from clients.programs import Runner, runners
from peers import rig, sources
from peers.asking import Json, reported
from peers.cases import CLIENTS, Case
from peers.known import PEERS
from support import Provider

type Key = tuple[str, str]
"""A peer and a case."""

CASES: dict[Key, Case] = {
    (peer.name, case.name): case for peer in PEERS for case in peer.cases
}
SERVERS = {peer.name: peer.server for peer in PEERS if peer.server}
RUNNERS = {name: each for each in runners() for name in each.clients if name in CLIENTS}


@dataclass(frozen=True)
class Wire:
    """An answer as it came."""

    status: int
    kind: str
    body: bytes


@dataclass(frozen=True)
class Seen:
    """One case.

    Attributes:
        wires: Without the addon, and with it.
        told: By client, what it said without the addon and with it.
        fixes: The fixes that fired.
        end: How the log says it ended.
    """

    wires: tuple[Wire, Wire]
    reported: dict[str, tuple[Json, Json]]
    fixes: frozenset[str]
    end: str


@dataclass(frozen=True)
class Played:
    """What was seen of each case, and what the mitmdumps have printed."""

    seen: dict[Key, Seen]
    lines: list[str]


def play(folder: Path) -> Played:
    """Start all, ask everything, and return what was seen.

    Raises:
        EnvironmentLackingError: A peer or a client cannot be had.
    """
    with ThreadPoolExecutor(2) as pool, contextlib.ExitStack() as stack:
        programs = list({each.name: each for each in RUNNERS.values()}.values())
        made = [pool.submit(runner.command) for runner in programs]
        fetched = {name: pool.submit(sources.fetch, name) for name in SERVERS.values()}
        python = environments.make_python("peers", sources.LOCK)
        commands = [
            [str(python), "-s", str(sources.SERVERS / f"{name}.py"), str(each.result())]
            for name, each in fetched.items()
        ]
        for each in made:
            each.result()
        started = [stack.enter_context(rig.Program(each)) for each in commands]
        provider = stack.enter_context(Provider())
        script = f"http://127.0.0.1:{provider.port}"
        served = {name: each.url() for name, each in zip(SERVERS, started, strict=True)}
        addons = {
            place: stack.enter_context(rig.Addon(place, folder / str(number)))
            for number, place in enumerate([script, *served.values()])
        }
        behind = {place: addon.url for place, addon in addons.items()}
        urls = {}
        for key, case in CASES.items():
            place, path = served.get(key[0], script), ""
            if case.answer is not None:
                path = _scripted(provider, case)
            base = f"{path.removesuffix('/chat/completions') or '/v1'}"
            urls[key] = (f"{place}{base}", f"{behind[place]}{base}")
        asked = {key: addons[served.get(key[0], script)] for key in urls}
        seen = dict(_wires(urls, asked))
        said = [pool.submit(_said, runner, urls) for runner in programs]
        clients = {name: found for each in said for name, found in each.result()}
    found = {
        key: Seen(
            wires,
            {name: clients[name][key] for name in CASES[key].clients},
            fixes,
            end,
        )
        for key, (wires, fixes, end) in seen.items()
    }
    return Played(found, [line for addon in addons.values() for line in addon.printed])


def _scripted(provider: Provider, case: Case) -> str:
    assert case.answer is not None
    parts, stream = case.answer
    kind = "text/event-stream;charset=UTF-8" if stream else "application/json"
    framing = "chunked" if stream else "length"
    headers = {"content-type": kind}
    return provider.script(
        *parts, status=case.status, framing=framing, headers=headers
    ).path


def _wires(
    urls: dict[Key, tuple[str, str]], addons: dict[Key, rig.Addon]
) -> Iterator[tuple[Key, tuple[tuple[Wire, Wire], frozenset[str], str]]]:
    """Ask for each answer twice, one after the other, so that the log can be told."""
    with httpx.Client(trust_env=False, timeout=rig.WAIT) as client:
        for key, (plain, repaired) in urls.items():
            asked, addon = CASES[key].asked, addons[key]
            known = len(addon.flows())
            wires = _wire(client, plain, asked), _wire(client, repaired, asked)
            flow = addon.next_flow(known)
            yield key, (wires, frozenset(flow["fixes"]), flow["end"])


def _wire(client: httpx.Client, url: str, asked: Json) -> Wire:
    answer = client.post(f"{url}/chat/completions", json=asked)
    return Wire(answer.status_code, answer.headers["content-type"], answer.content)


def _said(
    runner: Runner, urls: dict[Key, tuple[str, str]]
) -> list[tuple[str, dict[Key, tuple[Json, Json]]]]:
    """Run one client program on all answers."""
    names = [name for name in CLIENTS if name in runner.clients]
    wanted = {
        name: {key: urls[key] for key, case in CASES.items() if name in case.clients}
        for name in names
    }
    cases: list[Json] = [
        {"client": name, "url": url, "request": CASES[key].asked}
        for name in names
        for key, both in wanted[name].items()
        for url in both
    ]
    reports = iter([reported(report) for report in runner.run(cases)])
    return [
        (name, {key: (next(reports), next(reports)) for key in wanted[name]})
        for name in names
    ]
