"""Encodings and limits: R23."""
import gzip
import http.client
import struct
import zlib

import grpc

from .cases import Chapter
from .client import LENGTH, MAX_RECEIVED, Answer, answer_of, binary_body, expect, grpc_request, grpc_result
from .tensors import render

CHAPTER = Chapter("compression")
case, each = CHAPTER.case, CHAPTER.each

PACK = {"gzip": lambda data: gzip.compress(data, mtime=0), "deflate": zlib.compress}
UNPACK = {"gzip": 31, "deflate": 15}


def unpacked(encoding, body):
    """The decoded body, which may have MAX_RECEIVED bytes."""
    assert encoding in UNPACK, f"content-encoding is {encoding!r}, expected gzip or deflate"
    decoder = zlib.decompressobj(UNPACK[encoding])
    decoded = decoder.decompress(body, MAX_RECEIVED)
    assert decoder.eof, f"body is incomplete {encoding}, or longer than {MAX_RECEIVED} bytes"
    return decoded


def plain(answer):
    """The decoded response."""
    encoding = answer.headers.get("content-encoding", "identity")
    if encoding != "identity":
        answer = Answer(answer.status, answer.headers, unpacked(encoding, answer.body))
    return answer


def sample(t, free=False):
    """A request of some KiB; its response is as large, since small ones need not be compressed."""
    echo = t.models.echo(free=free)
    return echo, render(echo.body([1, 2, 3] * 300 if not echo.width else [1, 2, 3])).encode()


@each("R23", "request", {"gzip": ("gzip", "gzip"), "deflate": ("deflate", "deflate"), "identity": ("identity", None),
                         "upper-case": ("GZIP", "gzip")})
def request(t, encoding, kind):
    """A compressed request is decoded."""
    echo, body = sample(t)
    answer = t.rest.post(echo.path + "/infer", PACK[kind](body) if kind else body, {"Content-Encoding": encoding})
    expect("first element", float(answer.result()[echo.output].elements()[0]), 1.0)


@each("R23", "request.binary", {"gzip": "gzip", "deflate": "deflate"})
def request_binary(t, encoding):
    """The header length counts decompressed bytes."""
    echo = t.models.echo()
    inputs = echo.sample()
    headers, body = binary_body(inputs)
    answer = t.rest.post(echo.path + "/infer", PACK[encoding](body), {**headers, "Content-Encoding": encoding})
    expect("output", answer.result()[echo.output].bits(), inputs[0].bits())


@each("R23", "request.refused", {
    "unknown": ("br", None, 415), "nonsense": ("nonsense", None, 415), "not-gzip": ("gzip", None, 400),
    "not-deflate": ("deflate", None, 400),
    "zstd": ("zstd", None, 415)})
def request_refused(t, encoding, _, status):
    """An unknown coding: 415; a body that is not in its coding: 400."""
    echo, body = sample(t)
    t.rest.post(echo.path + "/infer", body, {"Content-Encoding": encoding}).refused(status)


@each("R23", "request.damaged", {"truncated": lambda data: data[:-12],
                                 "checksum": lambda data: data[:-8] + b"\0\0\0\0" + data[-4:],
                                 "trailing": lambda data: data + b"xx", "empty": lambda data: b""})
def request_damaged(t, damage):
    """A damaged gzip body: 400."""
    echo, body = sample(t)
    t.rest.post(echo.path + "/infer", damage(PACK["gzip"](body)), {"Content-Encoding": "gzip"}).refused(400)


def spaces(mebibytes):
    """Spaces in gzip; a full flush makes all parts equal, which saves compressing each."""
    part, packer, crc = b" " * (1 << 20), zlib.compressobj(9, zlib.DEFLATED, -15), 0
    packed = packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH)
    for _ in range(mebibytes):
        crc = zlib.crc32(part, crc)
    head, end = bytes.fromhex("1f8b08000000000002ff"), bytes.fromhex("0300")
    return head + packed * mebibytes + end + struct.pack("<II", crc, mebibytes << 20)


@case("R23", "request.bomb", dangerous=True)
def bomb(t):
    """A gigabyte compressed to a megabyte is refused early, and the endpoint stays up."""
    echo = t.models.echo()
    body = spaces(1024)
    t.rest.post(echo.path + "/infer", body, {"Content-Encoding": "gzip"}).refused(400, 413)
    t.rest.get("/v2/health/live").ok()


@each("R23", "response", {"gzip": ("gzip", "gzip"), "deflate": ("deflate", "deflate"), "several": ("br, gzip;q=0.5", "gzip")})
def response(t, accepted, encoding):
    """A response of some size is compressed as the client accepts."""
    echo, body = sample(t, free=True)
    answer = t.rest.post(echo.path + "/infer", body, {"Accept-Encoding": accepted}).ok()
    expect("content-encoding", answer.headers.get("content-encoding"), encoding)
    expect("first element", float(plain(answer).result()[echo.output].elements()[0]), 1.0)


@each("R23", "response.plain", {"identity": "identity", "unknown": "br", "refused": "gzip;q=0", "none": None})
def response_plain(t, accepted):
    """No encoding that was not accepted."""
    echo, body = sample(t)
    answer = t.rest.post(echo.path + "/infer", body, {} if accepted is None else {"Accept-Encoding": accepted}).ok()
    expect("content-encoding", answer.headers.get("content-encoding", "identity"), "identity")
    answer.result()


@each("R23", "response.binary", {"gzip": "gzip", "deflate": "deflate"})
def response_binary(t, encoding):
    """JSON and blobs are compressed together; the header counts decompressed bytes."""
    echo = t.models.echo(free=True)
    inputs = echo.inputs([1.0] * 2000)
    headers, body = binary_body(inputs, parameters={"binary_data_output": True})
    answer = t.rest.post(echo.path + "/infer", body, {**headers, "Accept-Encoding": encoding}).ok()
    expect("content-encoding", answer.headers.get("content-encoding"), encoding)
    expect("Inference-Header-Content-Length is there", LENGTH in answer.headers, True)
    expect("output", plain(answer).result()[echo.output].raw[:4], inputs[0].raw[:4])


@case("R23", "response.error")
def response_error(t):
    """An error has the standard form under any encoding."""
    answer = t.rest.call("GET", "/v2/models/isthmus_no_such_model", None, {"Accept-Encoding": "gzip"})
    plain(answer).refused(404)


@each("R23", "grpc", {"gzip": "Gzip", "deflate": "Deflate"})
def grpc_compression(t, name):
    """A compressed message is decoded."""
    echo = t.models.echo()
    inputs = echo.sample()
    try:
        response = t.grpc.stub.ModelInfer(grpc_request(echo.model, inputs), timeout=t.timeout,
                                          compression=getattr(grpc.Compression, name))
    except grpc.RpcError as error:
        raise AssertionError(f"gRPC status is {error.code().name} ({error.details()!r:.120}), expected OK") from None
    expect("output", grpc_result(response)[echo.output].bits(), inputs[0].bits())


@each("R23", "too-large", {"declared": str(1 << 40), "beyond-int32": str((1 << 32) + 10), "beyond-int64": "9" * 30})
def too_large(t, length):
    """A body that is too large is refused by its declared size, before it is sent."""
    echo = t.models.echo()
    connection = t.rest.connection()
    try:
        connection.putrequest("POST", echo.path + "/infer")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", length)
        connection.endheaders(b'{"inputs":[')
        answer = answer_of(connection.getresponse())
    except (OSError, http.client.HTTPException) as error:
        raise AssertionError(f"answer is {type(error).__name__} ({error}), expected 413") from None
    finally:
        connection.close()
    answer.refused(*((400, 413) if len(length) > 20 else (413,)))


@case("R23", "chunked")
def chunked(t):
    """A chunked body is accepted."""
    echo, body = sample(t)
    connection = t.rest.connection()
    try:
        connection.request("POST", echo.path + "/infer", iter([body[:7], body[7:]]), {"Content-Type": "application/json"},
                           encode_chunked=True)
        answer = answer_of(connection.getresponse())
    finally:
        connection.close()
    answer.result()


def encoded_in(t, *fields):
    """The status of a valid request with these fields for its coding."""
    echo, body = sample(t)
    body = PACK["gzip"](body)
    connection = t.rest.connection()
    try:
        connection.putrequest("POST", echo.path + "/infer")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(body)))
        for field in fields:
            connection.putheader("Content-Encoding", field)
        connection.endheaders(body)
        return answer_of(connection.getresponse()).status
    finally:
        connection.close()


@each("R23", "request.several-fields", {"identity": "identity", "twice": "gzip"})
def several_fields(t, second):
    """RFC 9110, 5.3: two fields are equivalent to one with a comma."""
    expect("status of two fields", encoded_in(t, "gzip", second), encoded_in(t, "gzip, " + second))


@case("R23", "response.quality")
def quality(t):
    """RFC 9110, 12.5.3: the higher q, not the first."""
    echo, body = sample(t)
    answer = t.rest.post(echo.path + "/infer", body, {"Accept-Encoding": "gzip;q=0.1, deflate;q=1"}).ok()
    expect("content-encoding", answer.headers.get("content-encoding", "identity"), "deflate", "identity")


@case("R23", "response.management")
def management_plain(t):
    """tritonclient.http.aio accepts gzip, but decodes it only in inference responses."""
    path = f"/v2/models/{t.models.need('sums')}/config"
    answer = t.rest.call("GET", path, headers={"Accept-Encoding": "gzip, deflate"}).ok()
    expect("content-encoding", answer.headers.get("content-encoding", "identity"), "identity")
