"""oip-double: serves models of metadata files."""
import argparse
import json
import os
import signal
import sys
import threading

from .faults import CODES, DRIFTS, KINDS, Fault, FaultError
from .models import ANSWERS, ModelError, read
from .server import Double, fleet

_EPILOG = f"""
A file has the metadata of a model as GET /v2/models/NAME returns them, or an array of them. The key "double" of a model adds:
  "answers": one of {', '.join(ANSWERS)}
             (echo: inputs come back in outputs of the same datatype, others are zeros; default)
  "values": {{"OUTPUT": [...]}}       fixed values    "returns_parameters": true    "fault": {{...}}

Faults, with --fault, or while it runs with PUT /double/fault (and "model": NAME for one model); DELETE /double/fault ends them:
  {{"latency_ms": 100, "jitter_ms": 50, "rate": 0.1, "count": 3, "calls": "infer" or "all"}}
  "kind": one of {', '.join(KINDS)}
  "drift": one of {', '.join(DRIFTS)}
  "status": of an error: {', '.join(map(str, CODES))}, ...
GET /double/calls has the number of inferences of each model.
"""


def main(arguments=None):
    made = argparse.ArgumentParser(prog="oip-double", epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
                                   description="A double of a server of the Open Inference Protocol, for tests of clients.")
    made.add_argument("models", nargs="*", metavar="MODEL.json", help="metadata of models")
    made.add_argument("--suite", action="store_true", help="serve the models of the conformance suite")
    made.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    made.add_argument("--http", metavar="PORT", type=int, default=8000, help="REST port, 0 for a free one (default: %(default)s)")
    made.add_argument("--grpc", metavar="PORT", type=int, default=8001, help="gRPC port, 0 for a free one (default: %(default)s)")
    made.add_argument("--fault", metavar="JSON", help="a fault of all models")
    made.add_argument("--seed", type=int, default=0, help="of the chances (default: %(default)s)")
    given = made.parse_args(arguments)
    paths = [*given.models, *([fleet()] if given.suite else [])]
    if not paths:
        made.error("MODEL.json or --suite is expected")
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    try:
        fault = Fault.of(json.loads(given.fault)) if given.fault else None
        models = [model for path in paths for model in read(path)]
        double = Double(models, given.host, given.http, given.grpc, given.seed, on_crash=lambda: os._exit(70))
    except (ModelError, FaultError, ValueError, OSError) as error:
        print(f"oip-double: {error}", file=sys.stderr)
        return 2
    if fault:
        double.faults.put(None, fault)
    with double:
        print(f"REST http://{double.rest}  gRPC {double.grpc}", flush=True)
        stopped.wait()
    return 0
