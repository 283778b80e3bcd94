"""Upstreams that follow a script, to see what a gateway sends and what it makes of a wrong answer.

Each serves one model, witness_rest or witness_grpc, with one INT32 input INPUT0 [-1,-1] and one output OUTPUT0. The script is
the id of the request: it works on both wires and no gateway may change it. The gRPC server takes messages of 4 MiB, as all of
gRPC's libraries do by default.
"""
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc

from . import messages as pb

# Foreign bodies of a REST upstream, by script: status, content type, body. The gateway must make the one error form of each.
FOREIGN = {
    "detail": (422, "application/json", b'{"detail":[{"loc":["body","inputs"],"msg":"Field required","type":"missing"}]}'),
    "detail-text": (404, "application/json", b'{"detail":"Not Found"}'),
    "code-message": (400, "application/json", b'{"code":3,"message":"bad shape"}'),
    "plain": (500, "text/plain", b"Internal Server Error"),
    "html": (502, "text/html", b"<html><body>Bad Gateway</body></html>"),
    "empty": (503, "text/plain", b""),
    "text-of-json": (400, "text/plain", b'{"error":"unexpected shape"}'),
}
# Answers with status 200 that are wrong, by script.
WRONG = {
    "wrong-not-json": b"<html></html>", "wrong-truncated": b'{"model_name":"witness_rest","outputs":[{"name":"OUTPUT0","sh',
    "wrong-count": b'{"model_name":"witness_rest","outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[4],"data":[1]}]}',
    "wrong-type": b'{"model_name":"witness_rest","outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[1],"data":["x"]}]}',
    "wrong-range": b'{"model_name":"witness_rest","outputs":[{"name":"OUTPUT0","datatype":"INT8","shape":[1],"data":[300]}]}',
}
# Answers with status 200 that are unusual and right, by script; each has the output FP32[1] 0.1.
UNUSUAL = {
    "unusual-long-number": b'{"model_name":"witness_rest","outputs":[{"name":"OUTPUT0","datatype":"FP32","shape":[1],"data":['
                           b"0.1" + b"0" * 100 + b"]}]}",
    "unusual-order": b'{"outputs":[{"data":[0.1],"shape":[1],"datatype":"FP32","name":"OUTPUT0"}],"model_name":"witness_rest"}',
    "unusual-fields": b'{"x":[{}],"model_name":"witness_rest","outputs":[{"name":"OUTPUT0","y":null,"datatype":"FP32",'
                      b'"shape":[1],"data":[1e-1],"parameters":null}],"id":null}',
}
# Raw bytes of a gRPC answer that do not fit its shape [4] of FP32.
SHORT = {"short-one-byte": bytes(15), "short-none": b"", "short-half": bytes(8), "long": bytes(17)}
METADATA = {"name": "INPUT0", "datatype": "INT32", "shape": [-1, -1]}


class Witness:
    """What arrived, newest last: (headers as a dict in lower case, request)."""

    def __init__(self):
        self.seen = []

    def last(self, id=""):
        """The headers and the request of that id, and how often it came. A raw binary request has no id."""
        found = [entry for entry in self.seen if entry[2] == id]
        assert found, f"request {id!r} did not reach the upstream, expected it there"
        return found[-1][0], found[-1][1], len(found)


def grpc_servicer(witness):
    class Servicer:
        def ServerLive(self, request, context):
            return pb.ServerLiveResponse(live=True)

        def ServerReady(self, request, context):
            return pb.ServerReadyResponse(ready=True)

        def ModelReady(self, request, context):
            return pb.ModelReadyResponse(ready=True)

        def ServerMetadata(self, request, context):
            return pb.ServerMetadataResponse(name="witness", version="1", extensions=["binary_tensor_data"])

        def ModelMetadata(self, request, context):
            answer = pb.ModelMetadataResponse(name=request.name, versions=["1"], platform="witness")
            answer.inputs.add(**METADATA)
            answer.outputs.add(name="OUTPUT0", datatype="INT32", shape=[-1])
            return answer

        def ModelInfer(self, request, context):
            headers = {k.lower(): v for k, v in context.invocation_metadata()}
            witness.seen.append(({**headers, "time-remaining": context.time_remaining()}, request, request.id))
            if request.id.startswith("code-"):
                context.abort(getattr(grpc.StatusCode, request.id[5:]), "the witness says " + request.id)
            answer = pb.ModelInferResponse(model_name=request.model_name, model_version="1", id=request.id)
            if request.id in SHORT:
                answer.outputs.add(name="OUTPUT0", datatype="FP32", shape=[4])
                answer.raw_output_contents.append(SHORT[request.id])
            elif request.id == "scalar":
                answer.outputs.add(name="OUTPUT0", datatype="FP32", shape=[])
                answer.raw_output_contents.append(bytes.fromhex("0000c03f"))
            else:
                answer.outputs.add(name="OUTPUT0", datatype="INT32", shape=[1])
                answer.raw_output_contents.append(bytes.fromhex("07000000"))
            return answer

    return Servicer()


def rest_handler(witness):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, status, body, kind="application/json"):
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            if self.path == "/v2":
                self.answer(200, {"name": "witness", "version": "1", "extensions": []})
            elif self.path.startswith("/v2/health") or self.path.endswith("/ready"):
                self.answer(200, b"")
            else:
                self.answer(200, {"name": "witness_rest", "versions": ["1"], "platform": "witness", "inputs": [METADATA],
                                  "outputs": [{**METADATA, "name": "OUTPUT0", "shape": [-1]}]})

        def body(self):
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def do_POST(self):
            request = json.loads(self.body() or b"{}")
            script = request.get("id", "")
            witness.seen.append(({k.lower(): v for k, v in self.headers.items()}, request, script))
            output = {"name": "OUTPUT0", "datatype": "INT32", "shape": [1], "data": [7]}
            if script == "scalar":
                output = {"name": "OUTPUT0", "datatype": "FP32", "shape": [], "data": [1.5]}
            if script in FOREIGN:
                status, kind, body = FOREIGN[script]
                self.answer(status, body, kind)
            elif script.startswith("status-"):
                self.answer(int(script[7:]), {"error": "the witness says " + script})
            elif script in WRONG or script in UNUSUAL:
                self.answer(200, WRONG.get(script) or UNUSUAL[script])
            else:
                self.answer(200, {"model_name": "witness_rest", "model_version": "1", "id": script, "outputs": [output]})

    return Handler


@contextmanager
def start_witnesses(rest_port=None, grpc_port=None):
    """Serves the witnesses that have a port, as {'rest': Witness, 'grpc': Witness}."""
    witnesses, closing = {}, []
    if rest_port is not None:
        witnesses["rest"] = Witness()
        server = ThreadingHTTPServer(("127.0.0.1", rest_port), rest_handler(witnesses["rest"]))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        closing.append(server.shutdown)
    if grpc_port is not None:
        witnesses["grpc"] = Witness()
        rpc = grpc.server(ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0)])
        rpc.add_generic_rpc_handlers([pb.handler(grpc_servicer(witnesses["grpc"]))])
        rpc.add_insecure_port(f"127.0.0.1:{grpc_port}")
        rpc.start()
        closing.append(lambda: rpc.stop(None))
    try:
        yield witnesses
    finally:
        for close in closing:
            close()
