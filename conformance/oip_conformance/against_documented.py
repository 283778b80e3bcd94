"""The differences between a server's answer and the gateway's that docs/reference names, for 'oip-conformance against'."""
import json
import re
from collections import namedtuple

# A case with the fields of both answers, and whether both have the same tensors; that is None if one of them has none.
Pair = namedtuple("Pair", "case direct through same")
# Differences of cases and of paths in their fields, if holds(pair, direct value, value through the gateway); and why they are there.
Rule = namedtuple("Rule", "why case path holds")
REFUSED = {400, 404, 405, 501, "INVALID_ARGUMENT", "NOT_FOUND", "UNIMPLEMENTED"}
CONSUMED = {"binary_data", "binary_data_output", "binary_data_size"}
FORM = r"content-type|encoding|binary data|body\.outputs\[](\.data.*|\.parameters(\.(binary_data_size|content_type))?)" \
       r"|messages\[]\.(inferResponse\.)?(rawOutputContents.*|outputs\[]\.contents.*)"


def failed(answer):
    return answer.get("status", 200) not in (200, "OK")


def refused(pair, *_):
    return failed(pair.direct) and pair.through.get("status") in {*REFUSED, pair.direct.get("status")} - {"broken"}


def checked(pair, *_):
    return not failed(pair.direct) and pair.through.get("status") in REFUSED


def bridged(pair, *_):
    return failed(pair.direct) and not failed(pair.through)


def served(pair, *_):
    return not failed(pair.direct) and not failed(pair.through)


RULES = [
    Rule("an error is JSON with the key 'error', and a client's mistake 4xx (errors.md)", r".*", r".*", refused),
    Rule("an error in a stream may have another text (errors.md)", r"grpc\.stream\..*", r"messages\[]\.errorMessage",
         lambda pair, direct, through: bool(direct and through)),
    Rule("requests are checked before the server gets them (protocol.md, Tensors)", r"\w+\.refused\..*", r".*", checked),
    Rule("what the server refuses is sent to it in another form (protocol.md, Dialects)", r"\w+\.(infer|stream|index)\..*|grpc\.get\.index",
         r".*", bridged),
    Rule("a KServe server gets no version (protocol.md, Names)", r"rest\.(get|refused)\.unknown-version.*", r".*",
         lambda pair, *_: bridged(pair) and "versioning not supported" in json.dumps(pair.direct.get("body"))),
    Rule("what a server checks over one of its protocols only (protocol.md, Known limits)", r"rest\.refused\.unknown-output", r".*",
         bridged),
    Rule("health has a body, and a model that is unknown is not ready (protocol.md, Names)", r"rest\.get\.(live|ready|model-ready).*",
         r"body.*|content-type", served),
    Rule("health has a body, and a model that is unknown is not ready (protocol.md, Names)", r"grpc\.get\.unknown-model-ready", r".*",
         lambda pair, *_: pair.through.get("messages") == [{}]),
    Rule("the server's metadata are the gateway's (protocol.md, Paths)", r"\w+\.get\.server-metadata", r"(body|messages\[]).*", served),
    Rule("an id that the server made up is left out (protocol.md, Names)", r"\w+\.(infer|stream|refused)\..*", r"(body|messages\[])\.id",
         lambda pair, direct, through: direct == "<uuid>" and through is None),
    Rule("what is empty is left out (protocol.md, Names)", r".*", r"(body|messages\[]).*",
         lambda pair, direct, through: direct in ({}, [], "") and through is None and served(pair)),
    Rule("parameters of binary data are consumed (protocol.md, Parameters)", r".*", r"(body|messages\[])\.(outputs\[]\.)?parameters",
         lambda pair, direct, through: isinstance(direct, dict) and set(direct) <= CONSUMED and through is None and served(pair)),
    Rule("a small response is not compressed (protocol.md, HTTP)", r"rest\.infer\.accept-gzip", r"encoding",
         lambda pair, direct, through: through is None and len(json.dumps(pair.through["body"])) < 1024),
    Rule("a model in the index is READY, without the name of an enum (protocol.md, Dialects)", r"grpc\.get\.index",
         r"messages\[]\.models\[]\.state", lambda pair, direct, through: direct == f"State.{through}"),
    Rule("the same tensors are in another form (protocol.md, Tensors)", r"\w+\.(infer|stream|refused)\..*", FORM,
         lambda pair, *_: pair.same and served(pair)),
    Rule("the gateway has the header fields of headers.return, and x-request-id (protocol.md, HTTP)", r"rest\.infer\.header-fields",
         r"fields.*", lambda pair, *_: set(pair.through.get("fields", ["none"])) <= {*pair.direct.get("fields", ()), "x-request-id"}),
]


def reasons(pair, differences):
    """Why the answers of a pair differ, once each; none if one of the differences, {path: both values}, is not documented."""
    found = {}
    for path, values in differences.items():
        plain = re.sub(r"\[\d+]", "[]", path)
        why = next((rule.why for rule in RULES if re.fullmatch(rule.case, pair.case) and re.fullmatch(rule.path, plain)
                    and rule.holds(pair, *values)), None)
        if not why:
            return []
        found[why] = True
    return [*found]
