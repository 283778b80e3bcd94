"""The conformance suite: cases against the protocol's rules, by section.

tensors   bits and their wire forms          client    single REST and gRPC calls
models    what an endpoint has: profiles     cases     what a case is, and how it is registered
witness   upstreams that follow a script     report    running, scoring, telling
http2     a request over HTTP/2 by hand
"""
from importlib import import_module

ROOMS = ("health", "paths", "errors", "datatypes", "shapes", "numbers", "bytes", "binary", "parameters", "json", "grpc",
         "compression", "streaming", "headers", "upstream", "limits", "bridge")

SECTIONS = [import_module(f"suite.cases_{room}").SECTION for room in ROOMS]

_IDS = [case.id for section in SECTIONS for case in section.cases]
assert len(_IDS) == len(set(_IDS)), f"ids used twice: {sorted({id for id in _IDS if _IDS.count(id) > 1})}"
