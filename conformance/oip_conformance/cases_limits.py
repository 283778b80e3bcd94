"""Limits on the size of a request's head, over HTTP/1.1 and HTTP/2: R23, with the error form of R3."""
import grpc

from . import http2
from .cases import Chapter
from .client import expect, pb

CHAPTER = Chapter("limits")
case, each = CHAPTER.case, CHAPTER.each

WIRES = ("http1", "http2")


def asked(t, wire, path="/v2/health/live", fields=()):
    if wire == "http2":
        return http2.get(t.rest, path, fields)
    return t.rest.call("GET", path, headers=dict(fields))


def some(count, size=1):
    return [(f"x-field-{n}", "v" * size) for n in range(count)]


@each("R23", "head.taken", {f"{wire}.{key}": (wire, fields) for wire in WIRES for key, fields in {
    "90-fields": some(90), "8-KiB": some(8, 1000)}.items()})
def head_taken(t, wire, fields):
    """A head of a usual size is accepted."""
    expect("status", asked(t, wire, fields=fields).status, 200)


@each("R23", "head.refused", {f"{wire}.{key}": (wire, fields) for wire in WIRES for key, fields in {
    "110-fields": some(110), "20-KiB": some(20, 1000)}.items()})
def head_refused(t, wire, fields):
    """A head with too many or too large fields: 431 with the error object."""
    asked(t, wire, fields=fields).refused(431)


@each("R23", "target.refused", {wire: wire for wire in WIRES})
def target_refused(t, wire):
    """A path of 9,000 characters: 414 with the error object."""
    asked(t, wire, "/v2/models/" + "m" * 9000).refused(414)


@case("R23", "metadata.refused")
def metadata_refused(t):
    """Too many fields of metadata: RESOURCE_EXHAUSTED."""
    try:
        t.grpc.stub.ServerLive(pb.ServerLiveRequest(), timeout=t.timeout, metadata=some(110))
    except grpc.RpcError as error:
        expect("gRPC status", error.code().name, "RESOURCE_EXHAUSTED")
        return
    raise AssertionError("gRPC status is OK, expected RESOURCE_EXHAUSTED")
