"""A sink for CloudEventsTest: reads events as the SDK for Python does, and V2 data as KServe does.

Prints its port, and then each event as a line of JSON: its attributes, and its tensors by name. Exits at the end of its input.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cloudevents.http import from_http
from kserve.protocol.infer_type import InferRequest, InferResponse


def tensors(event, headers):
    data = event.data
    json_length = int(headers.get("inference-header-content-length", len(data)))
    if event["type"].endswith(".request"):
        return InferRequest.from_bytes(data, json_length, event["inferenceservicename"]).inputs
    return InferResponse.from_bytes(data, json_length).outputs


# Events may arrive at once, and print writes a line and its end one after the other.
printing = threading.Lock()


class Sink(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        event = from_http(headers, body, data_unmarshaller=lambda data: data)
        values = {each.name: each.as_numpy().flatten().tolist() for each in tensors(event, headers)}
        with printing:
            print(json.dumps({"attributes": dict(event.get_attributes()), "tensors": values}), flush=True)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
