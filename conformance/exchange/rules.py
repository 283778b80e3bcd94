"""The allowed differences between a server's recorded response and the gateway's: the named normalisations.

A rule covers a difference only in the cases that it lists, and only in the form that its predicate accepts. A listed case
that did not need its rule is reported, so that the table stays up to date. Rn are the protocol rules, "docs" is
docs/reference/protocol.md.
"""
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Callable

from exchange import forms


@dataclass(frozen=True)
class Rule:
    id: str
    why: str
    covers: Callable  # (exchange, difference) -> bool
    cases: dict  # "rest", "triton rest" ... -> patterns of case names
    modes: tuple = ("straight", "cross")

    def fits(self, x, d):
        try:
            return bool(self.covers(x, d))
        except (KeyError, IndexError, TypeError, ValueError):  # an answer of quite another form
            return False

    def patterns(self, server, wire):
        return (self.cases.get(wire, "") + " " + self.cases.get(server + " " + wire, "")).split()

    def lists(self, server, wire, mode, case):
        return mode in self.modes and any(fnmatchcase(case, p) for p in self.patterns(server, wire))


def refusal(id, why, message, modes=("straight", "cross"), **cases):
    """The gateway refuses the request itself: 400 / INVALID_ARGUMENT, with the reason in the message."""
    pattern = re.compile(message)
    return Rule(id, why, lambda x, d: forms.refused(x, pattern), {k.replace("_", " "): v for k, v in cases.items()}, modes)


REFUSALS = [
    refusal(
        "strict-values", "R5 R12: out of range, or no value of the datatype: 400. Servers answer 500, 422 or wrap around",
        r"a value of (BOOL|U?INT\d+|FP\d+|BYTES) is expected, got",
        rest="fp32_overflow fp32_huge_exp fp32_string fp32_bool int32_float int32_over int32_under int32_string int32_bool "
        "int32_null int64_over int64_huge uint8_neg uint8_over uint8_float bool_one bool_two bool_string bool_null "
        "bytes_number bytes_null",
    ),
    refusal(
        "strict-contents", "R18 R12: contents are of the datatype's field, in its range, as many as the shape says; raw or not: "
        "INVALID_ARGUMENT. Servers wrap around, take what they find, or fail inside",
        r"a value of U?INT8 is expected, got 300|belongs in \w+_contents, got|has raw contents only|needs \d+ (elements|bytes), got"
        r"|contents and raw contents are both given|one entry for each of the \d+ inputs is expected"
        r"|is not defined by the protocol$|negative dimension|BYTES element \d+ has a length",
        grpc="typed_fp16_in_fp32_contents typed_uint8_overflow typed_int8_overflow typed_wrong_field typed_two_fields "
        "typed_too_few typed_too_many raw_and_typed raw_short raw_long raw_count_too_many raw_count_too_few no_data "
        "unknown_datatype negative_shape bytes_bad_inner",
    ),
    refusal("valued-parameters", "R8: a parameter has a value", r"^parameter 'k' has no value$", grpc="parameter_unset"),
    refusal(
        "strict-json", "R5: malformed JSON is 400; Triton says 500, the others 422, and some take a BOM",
        r"^malformed JSON at byte \d+: ",
        rest="int32_leading_zero bytes_lone_surrogate bytes_raw_invalid_utf8 empty_body bad_json json_trailing json_bom "
        "json_comment json_single_quotes binary_len_one binary_size_without_header",
    ),
    refusal(
        "strict-structure", "R5 R7: a key that is missing or of the wrong JSON type is 400",
        r"' is missing$|: (an object|an array|a string) is expected",
        rest="json_array json_deep inputs_missing inputs_object missing_name missing_shape missing_datatype "
        "ok_id_number parameters_array",
    ),
    refusal(
        "strict-shapes", "R11: counts, nesting and shapes are exact: 400",
        r"needs \d+ elements, got \d|nested arrays of different sizes|negative dimension|more elements than can be counted"
        r"|shape: integers are expected",
        rest="nested_wrong too_few too_many negative_shape shape_float shape_string shape_overflow shape_uint64",
    ),
    refusal(
        "known-datatypes", "docs: the protocol's datatypes only, as they are written there",
        r"datatype '\w+' is not defined by the protocol$", rest="unknown_datatype lowercase_datatype",
    ),
    refusal(
        "no-duplicates", "R19, docs: duplicate keys and names are 400", r" is given twice$",
        rest="outputs_twice input_twice json_duplicate_key",
    ),
    refusal(
        "one-data-source", "R10: exactly one of data and binary_data_size",
        r"one of data, binary_data_size and shared_memory_region is expected, got",
        rest="missing_data binary_and_data",
    ),
    refusal(
        "binary-lengths", "R16: lengths are decimal numbers and fit the body and the shape: 400",
        r"Inference-Header-Content-Length: one number of bytes|beyond what binary_data_size announces|a binary_data_size of \d"
        r"|binary_data_size: a number of bytes|BYTES element \d+ has a length|of BYTES needs \d+ elements|is followed by more data",
        rest="binary_len_negative binary_len_text binary_len_beyond_body binary_len_huge binary_len_plus binary_len_empty "
        "binary_trailing_bytes binary_short binary_size_vs_shape binary_size_negative binary_size_string "
        "binary_bytes_bad_inner_length binary_bytes_count_mismatch",
    ),
    refusal(
        "plain-parameters", "R8 R9: string, bool and number only; triton_ is reserved",
        r"a string, a number or a boolean is expected|names that begin with triton_ are reserved",
        rest="parameter_reserved", triton_rest="parameter_null parameter_array parameter_object",
        kserve_rest="parameter_null parameter_array parameter_object",
    ),
    refusal("checked-parameters", "R8 R9: as MLServer takes any JSON over REST, its REST clients get no further than gRPC does",
            r"a string, a number or a boolean is expected|^parameter 'timeout': an integer of 0 or more is expected", ("cross",),
            mlserver_rest="parameter_null parameter_array parameter_object parameter_timeout_string"),
    refusal(
        "infinity-without-a-form", "R13: MLServer's JSON has NaN as null, and nothing for infinities: refused rather than changed",
        r"has infinite values, which the model's server cannot read as JSON$",
        mlserver_rest="fp32_infinity_literal binary_nan_json_out",
    ),
    refusal("damaged-compression", "R23: what is no gzip is 400; KServe does not look", r"^malformed compressed content",
            rest="content_encoding_bad"),
    refusal(
        "raw-binary-request", "R16: the model must have one input in its metadata",
        r"^raw binary request: a model with one input", mlserver_rest="binary_len_zero", kserve_rest="binary_len_zero",
    ),
    refusal("shared-memory-off", "R9: shared memory is refused for a server whose configuration does not say otherwise",
            r"^shared memory is not enabled for upstream '\w+'$", triton_rest="system_shm_status"),
    refusal("reserved-parameters", "R9: timeout is a number, which only Triton looks at, and calls its own failure",
            r"^parameter 'timeout': an integer of 0 or more is expected",
            triton_rest="parameter_timeout_string", kserve_rest="parameter_timeout_string"),
    refusal("malformed-protobuf", "R5: the client's error, INVALID_ARGUMENT", r"^malformed protobuf message: ", ("straight",),
            grpc="malformed"),
    refusal(
        "segment-names", "docs: a model's name is one segment of a path, on both protocols: 1 to 255 bytes without a slash",
        r"^model (name|version) '.*': 1 to 255 bytes are expected", rest="model_name_percent_slash model_name_empty versioned_*_",
        grpc="model_ready_empty empty_request",
    ),
]  # fmt: skip


ANSWERS = [
    Rule("health-json-body", "R1: health answers have a JSON body; Triton and MLServer send none", forms.health_body,
         {"triton rest": "live ready live_query model_ready versioned_ready_[13] versioned_ready_01 versioned_ready_noversion",
          "mlserver rest": "live ready live_query model_ready versioned_ready_v[12] versioned_ready_noversion"}),
    Rule("not-ready", "R2: not ready and unknown are one answer: 400 with ready:false, gRPC OK with false", forms.not_ready,
         {"triton rest": "unknown_model_ready versioned_ready_2 versioned_ready_99 versioned_ready_0 versioned_ready_-1 "
                         "versioned_ready_v[12] versioned_ready_abc versioned_ready_18446744073709551616",
          "mlserver rest": "unknown_model_ready versioned_ready_[-0-9]* versioned_ready_abc",
          "kserve rest": "unknown_model_ready versioned_ready_noversion",
          "triton grpc": "model_ready_bad_version",
          "mlserver grpc": "model_ready_unknown model_ready_*_version",
          "kserve grpc": "model_ready_unknown model_ready_*_version"}),
    Rule("error-as-json", "R3: an error is an object with its text, application/json; status and text are the server's",
         forms.error_as_json,
         {"triton rest": "live_slash model_metadata_slash live_head models_list versioned_metadata_v[12] "
                         "versioned_metadata_abc versioned_metadata_-1 unknown_path root v1_path double_slash upper_case "
                         "scalar_shape wrong_rank unknown_model_infer wrong_version_infer "
                         "fail_* decoupled_over_http",
          "mlserver rest": "models_list unknown_path root v1_path double_slash upper_case fail_* iris_bad_shape model_config",
          "kserve rest": "unknown_path double_slash upper_case model_config"}),
    Rule("null-is-absent", "R7: an optional member that is null is as one that is missing; Triton calls it a failure of its own",
         lambda x, d: (x.want["status"], x.got["status"]) == (500, 200), {"triton rest": "ok_id_null"}),
    Rule("no-statistics", "R25: a server without statistics is UNIMPLEMENTED over either protocol",
         lambda x, d: (x.want["status"], x.got["status"]) == (404, 501)
         and (x.failure is None or x.failure.endswith("do not serve statistics")),
         {r: "model_stats models_stats_all_missing_model" for r in ("mlserver rest", "kserve rest")}, ("straight",)),
    Rule("method-not-allowed", "R3 R25: 405 is an error like any other", forms.method_not_allowed,
         {"rest": "live_post infer_get infer_put infer_delete infer_options",
          "mlserver rest": "metadata_post repository_index_get", "kserve rest": "metadata_post repository_index_get"}),
    Rule("no-versions", "R6: KServe refuses every path with a version; it is asked without", forms.without_version,
         {"kserve rest": "versioned_metadata_* versioned_ready_* wrong_version_infer version_infer"}),
    Rule("repository-body", "R21: MLServer wants a body, which the gateway adds",
         lambda x, d: x.want["status"] == 422 and x.got["status"] == 200 and {m["state"] for m in x.got["body"]} == {"READY"},
         {"mlserver rest": "repository_index_empty_body"}),
    Rule("index-of-names", "R21: KServe lists the names of its models; the gateway makes an index of them",
         lambda x, d: x.want["status"] == 404 and x.got["status"] == 200 and {m["state"] for m in x.got["body"]} == {"READY"},
         {"kserve rest": "repository_index repository_index_empty_body repository_index_ready"}),
    Rule("no-model-control", "start.sh starts Triton without model control, which was on when this was recorded",
         lambda x, d: x.got["status"] in (503, "UNAVAILABLE") and x.failure.startswith("explicit model load / unload is not"),
         {"triton rest": "repository_load_unknown repository_unload_unknown",
          "triton grpc": "repository_load_unknown repository_unload_unknown"}),
    Rule("small-answers-plain", "R23: answers up to 1 KiB are not compressed", forms.small_and_plain,
         {"triton rest": "accept_encoding_gzip"}, ("straight",)),
    Rule("order-by-model", "docs: the answers of one model keep their order, those of several may overtake each other",
         forms.in_another_order, {"triton grpc": "stream_error_middle"}),
    Rule("enveloped-stream", "R17: clients get Triton's envelope from every server", forms.same_in_envelope,
         {"mlserver grpc": "stream_infer"}),
    Rule("streams-for-all", "R17: a server without streams is asked one request after the other, and its errors are in band",
         lambda x, d: x.want["status"] == "UNIMPLEMENTED" and x.got["status"] == "OK"
         and all("does not exist" in m["error_message"] for m in x.got["messages"]),
         {"kserve grpc": "stream_infer stream_error"}),
    Rule("unprocessable-is-400", "R3 R4: FastAPI's 422 is 400 with its first detail as text", forms.unprocessable,
         {"mlserver rest": "json_BF16 json_in_binary_out_BF16"}),
    Rule("status-outside-the-table", "R4: an HTTP status without a google.rpc.Code is its class's, the body stays",
         lambda x, d: d.field == "status" and (d.want, d.got) == (418, 400), {"mlserver rest": "fail_mlserver"}),
    Rule("model-folder", "the recording has MODELS for the models' folder; an error is one line over REST", forms.model_folder,
         {"triton rest": "fail_raise", "triton grpc": "fail_raise"}),
    Rule("raw-batch-of-one", "R16: where two dimensions are variable the first is the batch's, and a raw binary request is a "
         "batch of one; that this model has no batches is not in its metadata", forms.batch_of_one,
         {"triton rest": "binary_len_zero"}),
    Rule("no-redirect", "R25: a trailing slash is 404, where FastAPI redirects",
         lambda x, d: (x.want["status"], x.got["status"]) == (307, 404) and x.failure == "Not Found",
         {r: "live_slash model_metadata_slash" for r in ("mlserver rest", "kserve rest")}),
    Rule("metadata-with-a-slash", "docs: the OpenAPI description has the server metadata under /v2/, which the gateway takes",
         lambda x, d: x.want["status"] in (307, 404) and x.got["status"] == 200 and "extensions" in x.got["body"],
         {"rest": "server_metadata_slash"}),
    Rule("other-paths", "docs: other paths than the protocol's are 404",
         lambda x, d: x.want["status"] == 200 and x.got["status"] == 404 and x.failure in (None, "Not Found"),
         {"mlserver rest": "docs model_docs", "kserve rest": "models_list root v1_path metrics_on_http_port"}),
    Rule("own-metadata", "R20: the server's metadata are the gateway's own", forms.own_metadata,
         {"rest": "server_metadata", "grpc": "server_metadata"}),
    Rule("metadata-without-nulls", "R20: what a server has not set is left out",
         lambda x, d: (d.field, d.want, d.got) in (("body.parameters", {}, "(absent)"), ("body.versions", [], "(absent)"),
                                                   ("body.versions", None, "(absent)")),
         {"mlserver rest": "model_metadata versioned_metadata_v[12] versioned_metadata_noversion model_name_percent",
          "kserve rest": "model_metadata model_name_percent"}),
    Rule("percent-decoded", "docs: names are percent-decoded, Triton does not", forms.simple_metadata,
         {"triton rest": "model_name_percent"}),
    Rule("unknown-encoding", "R23: an encoding that nobody knows is 415", forms.unknown_encoding,
         {"rest": "content_encoding_unknown"}),
    Rule("content-type-ignored", "R16: the request's Content-Type says nothing", forms.echo,
         {"mlserver rest": "content_type_text content_type_octet",
          "kserve rest": "content_type_none content_type_text content_type_octet binary_ok_content_type_json "
                         "binary_lowercase_header"}),
    Rule("values-servers-refuse", "R12 R13 R14: 1.0 is an integer, NaN may be null or text, half floats are numbers", forms.echo,
         {"triton rest": "int32_float_integral int32_exp int64_float_big fp32_nan_string fp32_null json_FP16 json_BF16 "
                         "binary_in_FP16 binary_in_BF16 json_in_binary_out_FP16 json_in_binary_out_BF16",
          "mlserver rest": "fp32_nan_literal ok_id_unicode",
          "kserve rest": "json_FP16 binary_in_FP16 json_in_binary_out_FP16 numpy_fp16"}),
    Rule("compressed-requests", "R23: gzip and deflate are undone before the server", forms.echo,
         {"mlserver rest": "content_encoding_deflate", "kserve rest": "content_encoding_gzip content_encoding_deflate"}),
    Rule("exact-integers", "R12: 1.0 is the integer 1, and none goes through a double", forms.exact_integers,
         {"mlserver rest": "int32_float_integral int32_exp int64_float_big", "kserve rest": "int64_float_big"}, ("straight",)),
    Rule("nothing-of-nothing", "R11: a tensor of no elements needs no data", forms.nothing_of_nothing,
         {"triton grpc": "zero_size_none"}),
    Rule("plain-states", "R21: MLServer writes the name of its enum's class before the state",
         lambda x, d: d.field.endswith(".state") and d.want == "State." + d.got, {"mlserver grpc": "repository_index"}),
    Rule("parameters-as-text", "R8: MLServer's gRPC knows no double and no uint64: as text they are not lost",
         lambda x, d: (d.field, d.want) == ("message.parameters", "(absent)") and list(d.got["k"]) == ["string_param"],
         {"mlserver grpc": "parameter_double parameter_uint64"}, ("straight",)),
    Rule("errors-in-band", "R17: an error does not end a stream, unless the client wants that", forms.error_in_band,
         {"mlserver grpc": "stream_error"}),
    Rule("written-anew", "R7 R9 R12 R13 R15 R16: floats shortest, BYTES that are no text as base64, binary data where it was asked "
         "for, no id that was made up, nothing empty; the same tensors", forms.same_answer,
         {"triton rest": "json_FP32 binary_in_FP32 fp32_long_mantissa fp32_denormal binary_bytes_nonutf8_json_out special_json",
          "mlserver rest": "json_in_binary_out_BOOL json_in_binary_out_*INT* json_in_binary_out_FP* json_in_binary_out_BYTES "
                           "json_FP16 fp32_nan_string fp32_null special_binary",
          "kserve rest": "*"}, ("straight",)),
    Rule("infinity-was-null", "R13: as before; KServe's JSON has null for infinities, its binary data have their bits",
         forms.null_was_infinity, {"kserve rest": "fp32_infinity_literal binary_nan_json_out special_json"}, ("straight",)),
    Rule("binary-for-json-servers", "R16: a server without the binary extension gets JSON and answers JSON", forms.echo,
         {"mlserver rest": "binary_in_BOOL binary_in_*INT* binary_in_FP* binary_in_BYTES binary_inout_BOOL binary_inout_*INT* "
                           "binary_inout_FP* binary_inout_BYTES zero_size_binary binary_ok binary_ok_content_type_json "
                           "binary_lowercase_header binary_header_json_only binary_bool_two binary_out_false "
                           "binary_bytes_nonutf8_*"}),
    Rule("binary-refused-as-json", "R16 R14: as before, and MLServer has no BF16",
         lambda x, d: x.want["status"] == 500 and forms.refused(x, re.compile(r"^body\.inputs\.0\.datatype: Input should be ")),
         {"mlserver rest": "binary_in_BF16 binary_inout_BF16"}),
    Rule("repeated-parameters", "R8: Triton repeats the parameters of a sequence for each output of an ensemble; they are there once",
         lambda x, d: d.field.endswith("parameters.(pairs)") and d.got == "(absent)" and len(dict(d.want)) < len(d.want),
         {"triton rest": "ensemble"}),
    Rule("name-for-kserve", "R21: KServe's load and unload have the name in another field than Triton's, which the gateway sets",
         lambda x, d: d.field == "details" and d.got == d.want.replace("name  ", "name nope "),
         {"kserve grpc": "repository_unload_unknown"}),
    Rule("unimplemented-text", "R25: UNIMPLEMENTED names the method",
         lambda x, d: d.field == "details" and x.want["status"] == x.got["status"] == "UNIMPLEMENTED"
         and d.got == "method /inference.GRPCInferenceService/%s is not supported" % x.target,
         {"grpc": "unknown_method"}),
]  # fmt: skip
