import pytest

from llm_normalize.routing.hosts import HostPattern, Hosts
from llm_normalize.routing.known_providers import HOSTS


@pytest.mark.parametrize(
    ("pattern", "host", "port", "expected"),
    [
        ("a.test", "a.test", 443, True),
        ("a.test", "A.Test.", 443, True),
        (" A.Test. ", "a.test", None, True),
        ("a.test", "b.a.test", 443, False),
        ("a.test", "a.test.evil", 443, False),
        ("a.test", "xa.test", 443, False),
        ("*.a.test", "b.a.test", 443, True),
        ("*.a.test", "c.b.a.test", 443, True),
        ("*.a.test", "a.test", 443, False),
        ("*.a.test", "xa.test", 443, False),
        ("x.*.a.test", "x.eu.a.test", 443, True),
        ("x.*.a.test", "x.a.test", 443, False),
        ("x.*.a.test", "x.y.eu.a.test", 443, False),
        ("a.test:8443", "a.test", 8443, True),
        ("a.test:8443", "a.test", 443, False),
        ("a.test:8443", "a.test", None, False),
        ("*.a.test:1", "b.a.test", 1, True),
        ("127.0.0.1:8000", "127.0.0.1", 8000, True),
        ("::1", "::1", 443, True),
        ("[::1]", "::1", 443, True),
        ("[::1]:8000", "::1", 8000, True),
        ("[::1]:8000", "::1", 443, False),
        ("FE80::1:2:3", "fe80::1:2:3", 443, True),
    ],
)
def test_a_pattern_means_the_hosts_it_spells(
    pattern: str, host: str, port: int | None, expected: bool
) -> None:
    assert HostPattern.parse(pattern).matches(host, port) is expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected `host`"),
        (".", "expected `host`"),
        ("a..test", "expected `host`"),
        (".a.test", "expected `host`"),
        ("*a.test", "expected `host`"),
        ("a.t*st", "expected `host`"),
        ("**.a.test", "expected `host`"),
        (":8000", "expected `host`"),
        ("a.test:x", "'x'"),
        ("a.test:65536", "'65536'"),
        ("a.test:-1", "'-1'"),
        ("a.test:\u0663", "invalid port"),
        ("a.test/v1", "expected a host, not a URL"),
        ("a.test/v1:80", "expected a host, not a URL"),
        ("https://a.test", "expected a host, not a URL"),
        ("https://a.test/v1", "expected a host, not a URL"),
    ],
)
def test_what_spells_no_host_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        HostPattern.parse(text)


def test_no_host_is_none_of_them() -> None:
    hosts = Hosts.parse(["a.test", "*.test"])
    assert not hosts.include(None, 443)
    assert not hosts.include("", 443)


def test_every_built_in_host_is_a_pattern_that_means_itself() -> None:
    hosts = Hosts.parse(HOSTS)
    for text in HOSTS:
        assert str(HostPattern.parse(text)) == text
        assert hosts.include(text.replace("*", "x"), 443)
    assert len(set(HOSTS)) == len(HOSTS)
    assert not hosts.include("api.openai.com", 443)


DOCUMENTED = """
api.kimi.com api.xiaomimimo.com token-plan-sgp.xiaomimimo.com inference.baseten.co
model-abcd1234.api.baseten.co dashscope-us.aliyuncs.com api.stepfun.com api.stepfun.ai
cn-hongkong.dashscope.aliyuncs.com ws-1.ap-southeast-1.maas.aliyuncs.com
hyper.charm.land us-south.ml.cloud.ibm.com ap-south-1.aws.wxai.ibm.com
ark.cn-beijing.volces.com ark.ap-southeast.bytepluses.com qianfan.baidubce.com
api.hunyuan.cloud.tencent.com aiplatform.googleapis.com
us-central1-aiplatform.googleapis.com aiplatform.eu.rep.googleapis.com
"""


@pytest.mark.parametrize("host", DOCUMENTED.split())
def test_what_documents_of_a_provider_name_is_built_in(host: str) -> None:
    assert Hosts.parse(HOSTS).include(host, 443)


@pytest.mark.parametrize(
    "host", ["storage.googleapis.com", "cloud.ibm.com", "tos-cn-beijing.volces.com"]
)
def test_what_a_provider_has_beside_is_not(host: str) -> None:
    assert not Hosts.parse(HOSTS).include(host, 443)


def test_many_hosts_and_long_ones() -> None:
    hosts = Hosts.parse(["*.a.test"])
    for _ in range(2):
        assert all(hosts.include(f"h{n}.a.test", 443) for n in range(600))
        assert not any(hosts.include(f"h{n}.b.test", 443) for n in range(600))
        assert not hosts.include("x" * 10_000 + ".a.test", 443)


def test_known_providers_stand_for_those_of_the_default() -> None:
    hosts = Hosts.parse([" known-providers ", "a.test"])
    assert list(map(str, hosts.patterns)) == [*HOSTS, "a.test"]
