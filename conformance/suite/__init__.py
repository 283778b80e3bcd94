"""The conformance suite: cases for the protocol's rules, by section.

tensors   bits and their wire forms          client    single REST and gRPC calls
models    profiles: models of an endpoint    cases     the type of cases, and their registration
witness   scripted upstream servers          report    running, scoring, reporting
http2     hand-written HTTP/2 requests
"""
from importlib import import_module

SECTION_NAMES = ("health", "paths", "errors", "datatypes", "shapes", "numbers", "bytes", "binary", "parameters", "json", "grpc",
         "compression", "streaming", "headers", "upstream", "limits", "bridge")

SECTIONS = [import_module(f"suite.cases_{room}").SECTION for room in SECTION_NAMES]

_IDS = [case.id for section in SECTIONS for case in section.cases]
assert len(_IDS) == len(set(_IDS)), f"ids used twice: {sorted({id for id in _IDS if _IDS.count(id) > 1})}"
