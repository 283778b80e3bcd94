"""The HTTP server of a double."""
import json
import os
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from ..client import LENGTH
from ..tensors import parse, render
from .faults import NONE, Fault, FaultError
from .inference import ServerError, answers, check, json_output, refuse, request_of_json, version_of

MAX_BODY = 64 << 20
JSON, OCTETS = "application/json", "application/octet-stream"


class Lost(Exception):
    """The call ends without a proper response."""


class RestServer(ThreadingHTTPServer):
    """Serves a state (server.State) until shutdown."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, state):
        self.state = state
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, Handler)

    def handle_error(self, request, client_address):
        """A client that has gone away is no error of the double."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""
    protocol_version = "HTTP/1.1"
    server_version = "oip-double"
    timeout = 60

    def log_message(self, *_):
        pass

    def send_error(self, code, message=None, explain=None):
        """Errors of http.server itself, in the form of the protocol."""
        self.close_connection = True
        self.answer(code, {"error": message or self.responses.get(code, ("error",))[0]})

    def answer(self, status, body, kind=JSON, headers=()):
        body = body if isinstance(body, bytes) else render(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def serve(self):
        try:
            body = self.body()
            self.dispatch(self.command, urlsplit(self.path).path, body)
        except ServerError as error:
            self.answer(error.status, {"error": error.message})
        except FaultError as error:
            self.answer(400, {"error": str(error)})
        except (Lost, ConnectionError, TimeoutError):
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = serve

    def body(self):
        """The body of the request; a connection whose body is not read is closed."""
        if self.headers.get("Content-Encoding", "identity") != "identity":
            self.close_connection = True
            raise ServerError(415, f"content-encoding is '{self.headers['Content-Encoding']}', expected none")
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self.chunks()
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or len(length) > 19 or int(length) > MAX_BODY:
            self.close_connection = True
            raise ServerError(413 if length.isdigit() else 400, f"content-length is '{length:.40}', expected at most {MAX_BODY}")
        return self.rfile.read(int(length))

    def chunks(self):
        parts, size = [], 0
        while True:
            head = self.rfile.readline(1024).split(b";")[0].strip()
            try:
                count = int(head, 16)
            except ValueError:
                count = -1
            size += count
            if count < 0 or size > MAX_BODY:
                self.close_connection = True
                raise ServerError(400 if count < 0 else 413, f"chunk is {head[:20]!r}, expected a size, of at most {MAX_BODY} bytes in all")
            if count == 0:
                while self.rfile.readline(1024).strip():
                    pass
                return b"".join(parts)
            parts.append(self.rfile.read(count))
            self.rfile.readline(16)

    def dispatch(self, method, path, body):
        """Answers a request by its path."""
        names = [unquote(part) for part in path.rstrip("/").split("/")[1:]]
        match names:
            case ["double", "fault"]:
                self.control(method, body)
            case ["double", "calls"]:
                self.allowed(method, "GET")
                self.answer(200, self.server.state.calls())
            case ["v2"]:
                self.managed(method, "GET", lambda: self.server.state.metadata())
            case ["v2", "health", "live" as what] | ["v2", "health", "ready" as what]:
                self.managed(method, "GET", lambda: {what: True})
            case ["v2", "repository", "index"]:
                self.managed(method, "POST", lambda: self.index(body))
            case ["v2", "repository", "models", name, "load" | "unload" as what]:
                self.managed(method, "POST", lambda: self.server.state.load(name, what == "load"))
            case ["v2", "models", name, "versions", version, *rest]:
                self.model(method, name, version, rest, body)
            case ["v2", "models", name, *rest]:
                self.model(method, name, "", rest, body)
            case _:
                raise ServerError(404, "Not Found")

    def allowed(self, method, *wanted):
        if method not in wanted:
            raise ServerError(405, "Method Not Allowed")

    def managed(self, method, wanted, make, model=None):
        """A response that is no inference."""
        self.allowed(method, wanted)
        fault = self.endure(model, infer=False)
        self.spoil(fault, 200, render(make()).encode())

    def index(self, body):
        read(body or b"{}")
        return self.server.state.index()

    def control(self, method, body):
        """GET shows the faults, PUT sets one, DELETE removes them."""
        self.allowed(method, "GET", "PUT", "DELETE")
        faults = self.server.state.faults
        if method == "DELETE":
            faults.clear()
        elif method == "PUT":
            try:
                values = json.loads(body)
            except ValueError:
                refuse(f"fault is {body[:80]!r}, expected a JSON object")
            model = values.pop("model", None) if isinstance(values, dict) else None
            if model is not None:
                self.server.state.model(model)
            faults.put(model, Fault.of(values))
        self.answer(200, faults.shown())

    def model(self, method, name, version, rest, body):
        if rest not in ([], ["ready"], ["infer"]):
            raise ServerError(404, "Not Found")
        self.allowed(method, "POST" if rest == ["infer"] else "GET")
        model = self.server.state.model(name, ready=rest == ["infer"])
        version_of(model, version)
        if rest == ["infer"]:
            self.infer(model, version_of(model, version), body)
        elif rest == ["ready"]:
            self.managed(method, "GET", lambda: self.server.state.ready(name), name)
        else:
            self.managed(method, "GET", lambda: self.server.state.model_metadata(name), name)

    def infer(self, model, version, body):
        self.server.state.count(model.name)
        fault = self.endure(model.name, infer=True)
        head, tail = self.parts(body)
        request = request_of_json(read(head), tail)
        check(model, request)
        if model.answers == "repeat":
            raise ServerError(501, f"model '{model.name}' answers several times: use ModelStreamInfer")
        outputs, = answers(model, request, version, fault)
        parameters = {"parameters": request.parameters} if model.returns_parameters and request.parameters else {}
        response = {"model_name": model.name, "model_version": version, **({"id": request.id} if request.id else {}), **parameters}
        made, blobs = [], []
        for one in outputs:
            if request.binary.get(one.name, request.all_binary):
                made.append({"name": one.name, "datatype": one.datatype, "shape": list(one.shape),
                             "parameters": {"binary_data_size": len(one.raw)}})
                blobs.append(one.raw)
            else:
                made.append(json_output(one))
        head = render({**response, "outputs": made}).encode()
        if any(blobs):
            self.spoil(fault, 200, head + b"".join(blobs), OCTETS, [(LENGTH.title(), str(len(head)))])
        else:
            self.spoil(fault, 200, head)

    def parts(self, body):
        """JSON and binary data of a body."""
        lengths = self.headers.get_all(LENGTH) or []
        if not lengths:
            return body, None
        if len(lengths) > 1 or not lengths[0].isascii() or not lengths[0].isdigit() or not 0 < int(lengths[0]) <= len(body):
            refuse(f"{LENGTH} is {', '.join(lengths)!r:.60}, expected one number of 1 to {len(body)}")
        return body[:int(lengths[0])], body[int(lengths[0]):]

    def endure(self, model, infer):
        """Waits as the fault says. The faults that need no response happen here; the fault is returned."""
        fault, seconds = self.server.state.faults.next(model, infer)
        if seconds and self.server.state.stopping.wait(seconds):
            raise Lost()
        if fault.kind == "error":
            raise ServerError(fault.status, fault.message)
        if fault.kind == "hang":
            self.server.state.stopping.wait()
        if fault.kind == "crash":
            self.server.state.crash()
        if fault.kind in ("hang", "close", "crash"):
            raise Lost()
        return fault

    def spoil(self, fault, status, body, kind=JSON, headers=()):
        """The response, or what the fault makes of it."""
        if fault.kind == NONE.kind:
            return self.answer(status, body, kind, headers)
        if fault.kind == "html":
            return self.answer(200, b"<html><body>It works!</body></html>", "text/html")
        if fault.kind == "nonsense":
            self.wfile.write(os.urandom(4096))
            raise Lost()
        if fault.kind == "flood":
            return self.flood(kind)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if fault.kind == "half":
            self.wfile.write(body[:len(body) // 2])
        else:
            self.drip(body)
        raise Lost()

    def drip(self, body):
        for at in range(len(body)):
            self.wfile.write(body[at:at + 1])
            if self.server.state.stopping.wait(1):
                return

    def flood(self, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()
        block = b'{"outputs":[' + b" " * (1 << 16)
        while not self.server.state.stopping.is_set():
            self.wfile.write(block)
        raise Lost()


def read(text):
    """JSON in UTF-8 without duplicate keys."""
    try:
        return parse(text.decode("utf-8"), unique)
    except (ValueError, RecursionError) as error:
        refuse(f"body is no JSON: {str(error) or type(error).__name__:.120}")


def unique(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found
