#!/usr/bin/env python3
"""Scores an endpoint of the Open Inference Protocol (V2) against the protocol's rules R1 to R25.

  score --rest HOST:PORT --grpc HOST:PORT --profile triton|mlserver|kserve|onnx

The profile selects the models of the endpoint: suite/models.py. Exit status: 0, 1 below --min-score, or 2 for usage errors.
"""
import argparse
import sys
import time

from suite import SECTIONS
from suite.cases import Endpoint
from suite.models import PROFILES
from suite.report import run_all, score, text, write_json
from suite.witness import start_witnesses


def arguments():
    parser = argparse.ArgumentParser(prog="score", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rest", metavar="HOST:PORT", help="REST address of the endpoint")
    parser.add_argument("--grpc", metavar="HOST:PORT", help="gRPC address of the endpoint")
    parser.add_argument("--profile", choices=PROFILES, default="triton", help="models of the endpoint (default: triton)")
    parser.add_argument("--section", nargs="+", choices=[section.name for section in SECTIONS], help="only these sections")
    parser.add_argument("--case", nargs="+", metavar="ID", help="only cases whose id has one of these prefixes")
    parser.add_argument("--dangerous", action="store_true", help="also cases that are known to crash a real server")
    parser.add_argument("--witness-rest", metavar="PORT", type=int,
                        help="serve a scripted REST upstream here; the gateway routes the model witness_rest to it")
    parser.add_argument("--witness-grpc", metavar="PORT", type=int,
                        help="serve a scripted gRPC upstream here; the gateway routes the model witness_grpc to it")
    parser.add_argument("--json", metavar="FILE", help="write the outcome of each case")
    parser.add_argument("--min-score", metavar="N", type=float, default=0.0, help="exit status 1 below this many percent")
    parser.add_argument("--list", action="store_true", help="only list the cases")
    given = parser.parse_args()
    if not given.list and not (given.rest and given.grpc):
        parser.error("--rest and --grpc are required")
    return given


def chosen_cases(given):
    cases = [case for section in SECTIONS if not given.section or section.name in given.section for case in section.cases]
    return [case for case in cases if not given.case or case.id.startswith(tuple(given.case))]


def await_ready(endpoint, timeout=15.0):
    """Waits until the gateway has noticed that the witnesses, just started, are ready."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        try:
            if endpoint.rest.get("/v2/health/ready").status == 200:
                return
        except AssertionError:
            pass
        time.sleep(0.2)


def main():
    given = arguments()
    cases = chosen_cases(given)
    if given.list:
        for case in cases:
            print(case.rule, case.id, "(dangerous)" if case.dangerous else "")
        return 0
    if not cases:
        print("score: no case was selected", file=sys.stderr)
        return 2
    with start_witnesses(given.witness_rest, given.witness_grpc) as witness:
        endpoint = Endpoint(given.rest, given.grpc, PROFILES[given.profile], witness)
        if witness:
            await_ready(endpoint)
        outcomes = run_all(cases, endpoint, given.dangerous)
    print(text(outcomes))
    if given.json:
        write_json(given.json, outcomes, {"rest": given.rest, "grpc": given.grpc, "profile": given.profile})
    return 1 if score(outcomes) < given.min_score else 0


if __name__ == "__main__":
    sys.exit(main())
