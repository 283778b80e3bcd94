"""One HTTP/2 request with prior knowledge, without a library: libraries do not send invalid requests."""
import struct

from .client import Answer, NotApplicable
from .tls import HTTP2

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def text(value):
    """An HPACK string (RFC 7541, 5.2) without Huffman coding."""
    length, more = len(value), b""
    if length >= 127:
        rest, length = length - 127, 127
        while rest >= 128:
            more, rest = more + bytes([rest % 128 + 128]), rest // 128
        more += bytes([rest])
    return bytes([length]) + more + value.encode()


def block(fields):
    """Literal fields without indexing (RFC 7541, 6.2.2)."""
    return b"".join(b"\x00" + text(name) + text(value) for name, value in fields)


def status_of(header_block):
    """The status, the first field of a header block: indexed, or a literal with a name from the static table."""
    at = 0
    while header_block[at] >> 5 == 1:
        at += 1  # dynamic table size update, below 31 here
    first = header_block[at]
    if first & 0x80:
        return {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}[first & 0x7F]
    length = header_block[at + 1]
    value = header_block[at + 2:at + 2 + (length & 0x7F)]
    return int(huffman_digits(value) if length & 0x80 else value)


def huffman_digits(value):
    """Decodes three digits (RFC 7541, appendix B): 0 to 2 have five bits, 3 to 9 have six."""
    bits, digits = "".join(f"{byte:08b}" for byte in value), ""
    while len(digits) < 3:
        size = 5 if bits[:5] in ("00000", "00001", "00010") else 6
        digits += str(int(bits[:size], 2) - (0 if size == 5 else 22))
        bits = bits[size:]
    return digits


def frames(received):
    """Kind, flags and payload of each frame, until the connection ends."""
    while len(head := received.read(9)) == 9:
        yield head[3], head[4], received.read(int.from_bytes(head[:3]))


def get(rest, path, fields=()):
    """Status and body of the response to a GET."""
    request = block([(":method", "GET"), (":scheme", rest.scheme), (":authority", rest.address), (":path", path), *fields])
    with rest.http2() as connection, connection.makefile("rb") as received:
        if rest.tls and connection.selected_alpn_protocol() != HTTP2:
            raise NotApplicable("the endpoint has no HTTP/2 where it takes REST")
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0))
        arriving = frames(received)
        if not speaks(arriving):
            raise NotApplicable("the endpoint has no HTTP/2 where it takes REST")
        connection.sendall(frame(SETTINGS, ACK, 0) + frame(HEADERS, END_STREAM | END_HEADERS, 1, request))
        return answer(arriving)


def speaks(arriving):
    """Whether a server's first frame is SETTINGS, as HTTP/2 requires."""
    try:
        return next(arriving, (None,))[0] == SETTINGS
    except OSError:
        return False


def answer(arriving):
    """The response on the only stream, as JSON; its other headers are ignored."""
    status, body = None, b""
    for kind, flags, payload in arriving:
        if kind == HEADERS:
            status = status_of(payload)
        elif kind == DATA:
            body += payload
        if kind in (HEADERS, DATA) and flags & END_STREAM:
            return Answer(status, {"content-type": "application/json"}, body)
    raise AssertionError("the connection ends, expected an answer over HTTP/2")
