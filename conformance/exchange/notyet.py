"""What the gateway does not serve yet, by path. Temporary: a part that is built takes its line away from here."""
import re
from dataclasses import dataclass
from typing import Callable

from exchange.answers import differences


@dataclass(frozen=True)
class Part:
    id: str
    asks: Callable  # (exchange) -> bool: the request needs this part
    unserved: Callable  # (exchange) -> bool: the gateway's answer says that it has no such part

    def covers(self, x):
        return self.asks(x) and self.unserved(x)


def path(pattern):
    return lambda x: x.wire == "rest" and re.search(pattern, x.target) is not None


def method(pattern):
    return lambda x: x.wire == "grpc" and re.fullmatch(pattern, x.target) is not None


def either(*tests):
    return lambda x: any(test(x) for test in tests)


def not_found(x):
    if x.wire == "grpc":
        return x.got["status"] == "UNIMPLEMENTED" and (x.failure or " is not served").endswith(" is not served")
    return x.got["status"] == 404 and x.failure in (None, "Not Found")


def header(x, name):
    return {k.lower(): v for k, v in x.request["headers"].items()}.get(name) if x.wire == "rest" else None


NOT_YET = [
    Part("config", either(path(r"/config$"), method("ModelConfig")), not_found),
    Part("stats", either(path(r"/stats$"), method("ModelStatistics")), not_found),
    Part("repository", either(path(r"^/v2/repository/"), method(r"Repository\w+")), not_found),
    Part("generate", path(r"/generate(_stream)?$"), not_found),
    Part("infer_stream", either(path(r"/infer_stream$"), method("ModelStreamInfer")), not_found),
    Part("trace-and-logging", either(path(r"^/v2/(trace|logging)"), method("TraceSetting|LogSettings")), not_found),
    Part("shared-memory", either(path(r"^/v2/\w+sharedmemory/"), method(r"\w+SharedMemory\w+")), not_found),
    Part("content-encoding", lambda x: header(x, "content-encoding") in ("gzip", "deflate"), lambda x: x.got["status"] == 415),
    Part("accept-encoding", lambda x: header(x, "accept-encoding") is not None,
         lambda x: x.want.get("encoding") and not differences(dict(x.want, encoding=None), x.got)),
    Part("raw-binary-request", lambda x: header(x, "inference-header-content-length") == "0",
         lambda x: "raw binary request is not taken yet" in (x.failure or "")),
]  # fmt: skip


def part_of(x):
    return next((p.id for p in NOT_YET if p.covers(x)), None)
