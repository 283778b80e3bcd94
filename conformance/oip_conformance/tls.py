"""TLS to the endpoint under test: what the certificate must be, and what the suite shows."""
import ssl
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import grpc

from .connection import BoundedTlsSocket, connect

HTTP1, HTTP2 = "http/1.1", "h2"


class TlsFileError(Exception):
    """A file of certificates or keys that cannot be used."""


@dataclass(frozen=True)
class Tls:
    """How an endpoint is reached over TLS.

    ca            PEM file with the authorities that may have issued its certificate; None for the system's
    insecure      the certificate may be of anybody
    certificate   PEM file with the certificate that the suite shows, and its issuers; None for none
    key           PEM file with its key
    """
    ca: str | None = None
    insecure: bool = False
    certificate: str | None = None
    key: str | None = None

    @cached_property
    def http1(self):
        return self._context(HTTP1)

    @cached_property
    def http2(self):
        return self._context(HTTP2)

    def _context(self, protocol):
        """TlsFileError if a file cannot be used."""
        made = ssl.create_default_context()
        try:
            if self.ca:
                made = ssl.create_default_context(cafile=self.ca)
            if self.certificate:
                made.load_cert_chain(self.certificate, self.key, password=lambda: b"")
        except (OSError, ValueError) as error:
            files = ", ".join(each for each in (self.ca, self.certificate, self.key) if each)
            raise TlsFileError(f"{files} cannot be used: {error}") from None
        if self.insecure:
            made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
        made.sslsocket_class = BoundedTlsSocket
        made.set_alpn_protocols([protocol])
        return made

    def problem(self, address, protocol, timeout):
        """Why no connection to (host, port) can be used, or None."""
        context = self.http2 if protocol == HTTP2 else self.http1
        try:
            with connect(address, timeout, context) as connection:
                agreed = connection.selected_alpn_protocol()
        except OSError as error:
            return str(error) or type(error).__name__
        if protocol == HTTP2 and agreed != HTTP2:
            return f"it agrees on {agreed or 'no protocol'} by ALPN, expected {HTTP2}, which gRPC needs"
        return None

    def channel(self, address, options, timeout):
        """A channel of gRPC to HOST:PORT. OSError if it shows no certificate that can be expected."""
        names = []
        if self.insecure:
            roots, names = self._presented(address, timeout)
        else:
            roots = "".join(map(ssl.DER_cert_to_PEM_cert, self.http2.get_ca_certs(binary_form=True))).encode() or None
        chain, key = (Path(each).read_bytes() if each else None for each in (self.certificate, self.key or self.certificate))
        named = [("grpc.ssl_target_name_override", name) for name in names[:1]]
        return grpc.secure_channel(address, grpc.ssl_channel_credentials(roots, key, chain), [*options, *named])

    def of_gevent(self):
        """The arguments of Triton's client over REST."""
        import gevent.ssl  # comes with that client

        def context(cafile):
            made = gevent.ssl.create_default_context(cafile=self.ca or cafile)
            if self.insecure:
                made.check_hostname, made.verify_mode = False, gevent.ssl.CERT_NONE
            if self.certificate:
                made.load_cert_chain(self.certificate, self.key)
            return made

        return {"ssl": True, "insecure": self.insecure, "ssl_context_factory": context}

    def _presented(self, address, timeout):
        """The certificate that the endpoint shows, and its names: gRPC always verifies, so it is told to expect that one."""
        with connect(host_and_port(address), timeout, self.http2) as connection:
            shown = ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True))
        trusting = self._context(HTTP2)
        trusting.load_verify_locations(cadata=shown)
        trusting.verify_mode, trusting.verify_flags = ssl.CERT_REQUIRED, trusting.verify_flags | ssl.VERIFY_X509_PARTIAL_CHAIN
        with connect(host_and_port(address), timeout, trusting) as connection:
            found = connection.getpeercert()
        names = [value for _, value in found.get("subjectAltName", ())]
        common = [value for part in found.get("subject", ()) for key, value in part if key == "commonName"]
        return shown.encode(), names or common


def problem(rest, grpc_at, used, timeout):
    """Why one of an endpoint's addresses with TLS cannot be used, or None. used has the Tls of rest, of grpc, or both."""
    for name, at, protocol in (("rest", rest, HTTP1), ("grpc", grpc_at, HTTP2)):
        if name in used:
            found = used[name].problem(host_and_port(at), protocol, timeout)
            if found:
                return f"no connection with TLS to {at}: {found}"
    return None


def host_and_port(address):
    """The pair of HOST:PORT."""
    host, port = address.rsplit(":", 1)
    return host.strip("[]"), int(port)
