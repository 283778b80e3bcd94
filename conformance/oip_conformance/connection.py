"""Sockets that are bounded in time and in what they receive."""
import http.client
import socket
import ssl
import time

MAX_RECEIVED = 64 << 20


class Bounded:
    """The operations of a socket, which all end at one deadline, and receive MAX_RECEIVED bytes at most."""
    deadline = None
    received = 0

    def _wait(self):
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self.settimeout(left)

    def _count(self, count):
        self.received += count
        if self.received > MAX_RECEIVED:
            raise OSError(f"more than {MAX_RECEIVED} bytes were received")
        return count

    def connect(self, address):
        self._wait()
        super().connect(address)

    def send(self, data, flags=0):
        self._wait()
        return super().send(data, flags)

    def sendall(self, data, flags=0):
        self._wait()
        super().sendall(data, flags)

    def recv(self, size, flags=0):
        self._wait()
        data = super().recv(size, flags)
        self._count(len(data))
        return data

    def recv_into(self, buffer, size=0, flags=0):
        self._wait()
        return self._count(super().recv_into(buffer, size, flags))


class BoundedSocket(Bounded, socket.socket):
    """A plain socket."""


class BoundedTlsSocket(Bounded, ssl.SSLSocket):
    """A socket with TLS."""

    def do_handshake(self, block=False):
        self._wait()
        super().do_handshake()


def connect(address, timeout, context=None):
    """A connected socket whose deadline is timeout from now. context: that of TLS, after its handshake; None for plain text."""
    failure = OSError(f"{address[0]} has no address")
    deadline = time.monotonic() + timeout
    for family, kind, _, _, found in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
        made = BoundedSocket(family, kind)
        made.deadline = deadline
        try:
            made.connect(found)
            return made if context is None else secured(made, address[0], context)
        except OSError as error:
            made.close()
            failure = error
    raise failure


def secured(plain, host, context):
    """The socket with TLS, after the handshake."""
    made = context.wrap_socket(plain, do_handshake_on_connect=False, server_hostname=host)
    made.deadline = plain.deadline
    try:
        made.do_handshake()
        return made
    except OSError:
        made.close()
        raise


class Connection(http.client.HTTPConnection):
    """An HTTP/1.1 connection over a bounded socket; with TLS if there is a context."""

    def __init__(self, address, timeout, context=None):
        super().__init__(address, timeout=timeout)
        self._create_connection = lambda target, *_: connect(target, timeout, context)
