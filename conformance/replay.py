#!/usr/bin/env python3
"""Replays recorded exchanges of a real server through a gateway in front of it.

  replay --gateway HOST:PORT --server triton|mlserver|kserve --wire rest|grpc [--cross] [--case PATTERN]

By default, the gateway's upstream uses the client's wire, and the gateway's response is compared with the recorded one:
status, content type, body as values, binary data as bytes, gRPC message with all fields. With --cross, the upstream uses
the other wire, and recorded successful responses are compared as decoded tensors.
Each difference must be covered by a rule in exchange/rules.py or exchange/crossing.py; others are UNEXPLAINED.
Exit status: 1 if any difference is unexplained.
"""
import argparse
import base64
import json
import os
import sys
from fnmatch import fnmatchcase

import grpc

import record
from exchange import tensors
from exchange.answers import Exchange, grpc_answer, rest_answer
from exchange.crossing import CROSSED
from exchange.report import Report
from exchange.rules import ANSWERS, REFUSALS

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")


def recorded(server, wire):
    with open(os.path.join(GOLDEN, server, wire + ".jsonl")) as lines:
        return [json.loads(line) for line in lines]


def rest(a, line):
    q, case = line["request"], line["case"]
    if a.cross and not (q["path"].endswith("/infer") and line["response"].get("status") == 200):
        return None
    got = record.send_http(a.gateway, q["method"], q["path"], q["headers"], record.dec(q["body"]), a.timeout)
    answers = [rest_answer(r, case) for r in (line["response"], got)]
    return Exchange(a.server, "rest", a.mode, case, q, *(map(tensors.from_rest, answers) if a.cross else answers))


def over_grpc(a, channel, line):
    method, case = line["method"], line["case"]
    if a.cross and not (method == "ModelInfer" and line["response"]["code"] == "OK"):
        return None
    decode = base64.b64decode
    payload = [decode(b) for b in line["request"]] if line["streaming"] else decode(line["request"])
    got = record.send_grpc(channel, method, payload, line["streaming"], a.timeout)
    both = (line["response"], got)
    answers = [tensors.from_grpc(r) if a.cross else grpc_answer(r, method, case) for r in both]
    return Exchange(a.server, "grpc", a.mode, case, {"method": method, "request": line["request"]}, *answers)


def need_ready(a, channel):
    """Exits if the gateway is not ready, since every case would differ."""
    if a.wire == "rest":
        seen = record.send_http(a.gateway, "GET", "/v2/health/ready", {}, None, a.timeout)
    else:
        seen = record.send_grpc(channel, "ServerReady", b"", False, a.timeout)
    if seen.get("status", seen.get("code")) not in (200, "OK"):
        sys.exit("%s is not ready: %s" % (a.gateway, seen))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--gateway", required=True, metavar="HOST:PORT")
    p.add_argument("--server", required=True, choices=["triton", "mlserver", "kserve"])
    p.add_argument("--wire", required=True, choices=["rest", "grpc"], help="protocol of the client")
    p.add_argument("--cross", action="store_true", help="the gateway's upstream uses the other wire")
    p.add_argument("--case", default="*", metavar="PATTERN", help="only these cases")
    p.add_argument("--timeout", type=float, default=10)
    a = p.parse_args()
    a.mode = "cross" if a.cross else "straight"

    report = Report(a.server, a.wire, a.mode, REFUSALS + ANSWERS + CROSSED)
    with grpc.insecure_channel(a.gateway) as channel:
        need_ready(a, channel)
        for line in recorded(a.server, a.wire):
            if fnmatchcase(line["case"], a.case):
                x = rest(a, line) if a.wire == "rest" else over_grpc(a, channel, line)
                if x is not None:
                    report.take(x)
    report.print()
    return 1 if report.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
