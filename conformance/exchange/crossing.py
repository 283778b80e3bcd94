"""Normalisations for crossed replays: what the other wire cannot represent, or a server does differently on it."""
import math
import re

import numpy

from exchange import tensors
from exchange.answers import ABSENT
from exchange.rules import Rule

CROSS = ("cross",)


def no_uuid(x, d):
    return d.field == "id" and (d.want, d.got) == ("<uuid>", "")


def infinity_was_null(x, d):
    """JSON null is read as NaN; only for these elements may the gateway's response have an infinity."""
    if not re.fullmatch(r"outputs\[\d+\]\.raw", d.field):
        return False
    want, got = (numpy.frombuffer(bytes.fromhex(raw), "<f4") for raw in (d.want, d.got))
    pairs = list(zip(want, got))
    return len(want) == len(got) and all(
        w.tobytes() == g.tobytes() or math.isnan(w) and math.isinf(g) for w, g in pairs
    )


def exact_integer(x, d):
    """The model echoes its input, so the output is the requested integer, which the recorded response has as a double."""
    sent = tensors.asked(x.request)
    return d.field == "outputs[0].raw" and sent is not None and d.got == sent[0]["raw"]


def kept_parameter(x, d):
    return d.field == "parameters.k" and d.want == ABSENT and d.got in (1.5, 2**64 - 1)


def answered(status, text):
    """The server's error message on its other wire."""
    pattern = re.compile(text)
    return lambda x, d: x.want["status"] == 200 and x.got["status"] == status and bool(pattern.search(x.failure or ""))


CROSSED = [
    Rule("no-uuid", "R7: ids are never invented, as MLServer does over REST, and KServe", no_uuid,
         {"mlserver rest": "*", "kserve rest": "*", "kserve grpc": "*"}, CROSS),
    Rule("wide-parameters", "R8: MLServer's gRPC knows no double and no uint64, and gets them as text",
         lambda x, d: d.field == "parameters.k" and d.got == str(d.want), {"mlserver rest": "parameter_big parameter_float"}, CROSS),
    Rule("consumed-parameters", "docs: binary_data_output is ours and goes no further; KServe's model echoes it",
         lambda x, d: d.field == "parameters.binary_data_output" and type(d.want) is bool and d.got == ABSENT,
         {"kserve rest": "binary_inout_* zero_size_binary binary_out_false"}, CROSS),
    Rule("infinity-was-null", "R13: KServe's JSON has null for infinities, gRPC has their bits", infinity_was_null,
         {"kserve rest": "fp32_infinity_literal binary_nan_json_out special_json"}, CROSS),
    Rule("exact-integer", "R12: 1.0 is the integer 1, and none goes through a double", exact_integer,
         {"mlserver rest": "int32_float_integral int32_exp int64_float_big", "kserve rest": "int64_float_big"}, CROSS),
    Rule("kept-parameter", "R8: MLServer drops double and uint64 over gRPC and keeps them over REST", kept_parameter,
         {"mlserver grpc": "parameter_double parameter_uint64"}, CROSS),
    Rule("uint64-parameter", "R8: above int64 it is uint64, which Triton refuses over gRPC",
         answered(400, "^invalid value type for 'k' parameter"), {"triton rest": "parameter_big"}, CROSS),
    Rule("no-nan-in-mlserver", "README: MLServer fails on a NaN in its response over gRPC",
         answered(500, "^required argument is not a float$"), {"mlserver rest": "special_json special_binary"}, CROSS),
    Rule("kserve-rest-outputs", "R19: KServe checks the names of outputs over REST only",
         answered("INVALID_ARGUMENT", "^Unexpected inference output 'nope'"), {"kserve grpc": "unknown_output"}, CROSS),
    Rule("kserve-rest-bytes", "README: KServe cannot return BYTES that are not UTF-8 over REST, nor as binary data",
         answered("INTERNAL", "^Failed to encode .* using UTF-8"), {"kserve grpc": "bytes_nonutf8"}, CROSS),
]  # fmt: skip
