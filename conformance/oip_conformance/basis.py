"""What each case rests on: a document and its section, and the profile to which the case belongs.

The first row of TABLE whose patterns have the id of a case applies to it. STATED: the section says what the case asserts.
READING: the section leaves it open, or documents contradict each other, and the suite takes one side. The author of a server may
disagree with a reading, and list its cases as disputed.
"""
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

PROFILES = {
    "core": "health, metadata and inference over REST and gRPC, as the protocol's documents state them",
    "strict": "where the documents are silent, or contradict each other",
    "binary": "the extension for binary tensor data",
    "streams": "streams over gRPC, and server-sent events",
    "generate": "the extension generate",
    "management": "the extensions model repository and model configuration",
    "http": "methods, paths, encodings and limits of HTTP",
    "triton": "what Triton defines beyond that: sequences, classification, shared memory, its failures",
    "mlserver": "what MLServer defines beyond that",
    "gateway": "what a gateway does between its client and a server; needs --witness-rest and --witness-grpc",
}

_TRITON = "https://github.com/triton-inference-server/server/blob/main/docs/"
_RFC = "https://www.rfc-editor.org/rfc/rfc"
DOCUMENTS = {
    "V2 REST": ("Predict Protocol, Version 2: HTTP/REST. The Open Inference Protocol has most of its sections word for word",
                "https://github.com/kserve/kserve/blob/master/docs/predict-api/v2/required_api.md#httprest"),
    "OIP REST": ("Open Inference Protocol, HTTP/REST",
                 "https://github.com/kserve/open-inference-protocol/blob/main/specification/protocol/inference_rest.md"),
    "OIP gRPC": ("Open Inference Protocol, gRPC",
                 "https://github.com/kserve/open-inference-protocol/blob/main/specification/protocol/inference_grpc.md"),
    "OIP OpenAPI": ("Open Inference Protocol, OpenAPI description of REST",
                    "https://github.com/kserve/open-inference-protocol/blob/main/specification/protocol/open_inference_rest.yaml"),
    "Binary data": ("Triton, binary tensor data extension", _TRITON + "protocol/extension_binary_data.md"),
    "Repository": ("Triton, model repository extension", _TRITON + "protocol/extension_model_repository.md"),
    "Configuration": ("Triton, model configuration extension", _TRITON + "protocol/extension_model_configuration.md"),
    "Generate": ("Triton, generate extension", _TRITON + "protocol/extension_generate.md"),
    "Parameters": ("Triton, parameters extension", _TRITON + "protocol/extension_parameters.md"),
    "Sequence": ("Triton, sequence extension", _TRITON + "protocol/extension_sequence.md"),
    "Schedule": ("Triton, schedule policy extension", _TRITON + "protocol/extension_schedule_policy.md"),
    "Classification": ("Triton, classification extension", _TRITON + "protocol/extension_classification.md"),
    "Shared memory": ("Triton, shared memory extension", _TRITON + "protocol/extension_shared_memory.md"),
    "Triton protocols": ("Triton, inference protocols and APIs", _TRITON + "customization_guide/inference_protocols.md"),
    "Triton decoupled": ("Triton, decoupled models", _TRITON + "user_guide/decoupled_models.md"),
    "MLServer streaming": ("MLServer, streaming", "https://mlserver.readthedocs.io/en/latest/user-guide/streaming.html"),
    "MLServer": ("MLServer, content type", "https://mlserver.readthedocs.io/en/latest/user-guide/content-type.html"),
    "gRPC": ("gRPC, status codes and their use", "https://grpc.io/docs/guides/status-codes/"),
    "gRPC over HTTP/2": ("gRPC over HTTP/2", "https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md"),
    "Protobuf": ("Protocol Buffers, encoding", "https://protobuf.dev/programming-guides/encoding/"),
    "Trace Context": ("W3C Trace Context", "https://www.w3.org/TR/trace-context/"),
    "RFC 3986": ("Uniform Resource Identifier", _RFC + "3986"), "RFC 6585": ("Additional HTTP Status Codes", _RFC + "6585"),
    "RFC 8259": ("The JSON Data Interchange Format", _RFC + "8259"), "RFC 9110": ("HTTP Semantics", _RFC + "9110"),
    "RFC 9112": ("HTTP/1.1", _RFC + "9112"), "IEEE 754": ("Floating-Point Arithmetic", "https://ieeexplore.ieee.org/document/8766229"),
}

STATED, READING = "stated", "reading"


@dataclass(frozen=True)
class Basis:
    """Where a case comes from; document is a key of DOCUMENTS."""
    profile: str
    document: str
    section: str
    strength: str

    def __str__(self):
        return f"{self.document}, {self.section}"


def _row(profile, document, section, strength, patterns):
    return tuple(patterns.split()), Basis(profile, document, section, strength)


TABLE = (
    # health and metadata
    _row("core", "V2 REST", "Health", STATED, "health.rest.status.* health.rest.model-ready.status health.rest.ready-of-unknown "
         "paths.ready.rest paths.unknown-version-ready bridge.served.*live bridge.served.*ready"),
    _row("strict", "OIP REST", "Server Live, Server Ready and Model Ready Response JSON Object; the Predict Protocol has an empty body", READING,
         "health.rest.live health.rest.ready health.rest.model-ready health.rest.content-type"),
    _row("core", "OIP gRPC", "Health", STATED, "health.grpc.live health.grpc.ready health.grpc.model-ready "
         "health.grpc.ready-of-unknown paths.ready.grpc"),
    _row("core", "V2 REST", "Server Metadata Response JSON Object", STATED, "health.rest.server-metadata bridge.served.server"),
    _row("core", "V2 REST", "Model Metadata Response JSON Object", STATED, "health.rest.model-metadata health.rest.declared-inputs "
         "paths.metadata.versions bridge.served.model bridge.metadata-shape-is-integers"),
    _row("strict", "V2 REST", "Server Metadata and Model Metadata: both APIs describe one server", READING,
         "health.server-metadata-is-one health.model-metadata-is-one"),
    _row("binary", "Binary data", "introduction: binary_tensor_data in the extensions of the server metadata", STATED,
         "health.extension-binary-is-true"),
    _row("management", "Repository", "introduction: model_repository in the extensions of the server metadata", STATED,
         "health.extension-repository-is-true"),
    _row("strict", "V2 REST", "Model Metadata and Inference Response JSON Error Object: the status for an unknown model", READING,
         "health.rest.*-of-unknown"),
    _row("strict", "gRPC", "NOT_FOUND and INVALID_ARGUMENT", READING, "health.grpc.*"),
    # paths
    _row("http", "RFC 9110", "15.5.6, 405 Method Not Allowed; with the error object of the protocol", READING,
         "paths.method.* errors.form.method*"),
    _row("http", "RFC 9110", "15.5.5, 404 Not Found; with the error object of the protocol", READING,
         "paths.unknown.* errors.form.unknown-path"),
    _row("http", "RFC 3986", "3.4, Query", READING, "paths.query-is-no-path"),
    _row("http", "RFC 3986", "6.2.2.2, Percent-Encoding Normalization", STATED, "paths.percent-encoded-*"),
    _row("http", "RFC 3986", "2.1, Percent-Encoding", READING, "paths.odd-name.*"),
    _row("core", "V2 REST", "Inference: the version in the path, and model_version", STATED, "paths.infer.*"),
    _row("core", "OIP gRPC", "Inference: model_version", STATED, "paths.grpc.each-version paths.grpc.latest-by-default"),
    _row("strict", "V2 REST", "Inference Response JSON Error Object: the status for an unknown version", READING,
         "paths.unknown-version*"),
    _row("strict", "gRPC", "NOT_FOUND", READING, "paths.grpc.unknown-version.*"),
    _row("management", "Repository", "HTTP/REST, Index", STATED, "paths.index.body.* paths.index.entries bridge.served.repository"),
    _row("management", "Repository", "HTTP/REST, Index", READING, "paths.index.*"),
    _row("management", "Repository", "HTTP/REST, Load", READING, "paths.load.*"),
    _row("management", "Configuration", "HTTP/REST; GRPC", STATED, "paths.config.*"),
    _row("strict", "OIP OpenAPI", "path /v2/", STATED, "paths.server-metadata.slash"),
    _row("http", "RFC 9112", "3.2.2, absolute-form", STATED, "paths.absolute-form"),
    # models
    _row("binary", "Binary data", "Binary Tensor Request; and the metadata of the model", STATED, "models.binary*"),
    _row("core", "OIP gRPC", "Inference; and the metadata of the model", STATED, "models.grpc*"),
    _row("core", "V2 REST", "Inference Response JSON Object; and the metadata of the model", STATED, "models.*"),
    # errors
    _row("core", "V2 REST", "Inference Response JSON Error Object", STATED, "errors.form.unknown-model errors.form.bad-json "
         "errors.form.no-inputs errors.form.empty-body errors.form.unknown-model-infer"),
    _row("strict", "V2 REST", "Health: no error object is defined", READING, "errors.form.unknown-model-ready"),
    _row("http", "RFC 9112", "6.3, Message Body Length", READING, "errors.form.request-line"),
    _row("http", "RFC 9112", "9.3, Persistence", READING, "errors.connection-survives"),
    _row("triton", "Triton protocols", "Mapping Triton Server Error Codes to HTTP Status Codes; GRPC Status Codes", READING, "errors.rest.triton.* errors.grpc.triton.*"),
    _row("mlserver", "MLServer", "errors of a runtime", READING, "errors.rest.mlserver.* errors.grpc.mlserver.*"),
    _row("strict", "V2 REST", "Inference Response JSON Error Object: the status for a failure of the model", READING, "errors.rest.*"),
    _row("core", "gRPC", "UNIMPLEMENTED", STATED, "errors.grpc.unknown-method"),
    _row("core", "gRPC", "DEADLINE_EXCEEDED", STATED, "errors.grpc.deadline"),
    _row("strict", "gRPC", "INVALID_ARGUMENT, INTERNAL", READING, "errors.grpc.*"),
    _row("core", "V2 REST", "Request Input; Inference Response JSON Error Object: typically 400", STATED, "errors.missing.* errors.type.*"),
    _row("core", "V2 REST", "Inference Request JSON Object; Inference Response JSON Error Object: typically 400", STATED, "errors.body.*"),
    _row("core", "V2 REST", "Model Metadata Response JSON Object: the inputs required by the model", READING, "errors.input.*"),
    # datatypes
    _row("core", "OIP gRPC", "Inference: FP16 must be raw", STATED, "numbers.grpc.typed-refused.*"),
    _row("strict", "V2 REST", "Tensor Data Types: BF16 is Triton's", READING, "datatypes.*.BF16 numbers.*BF16* bridge.bf16-taken"),
    _row("strict", "V2 REST", "Tensor Data: FP16 is problematic in JSON", READING, "datatypes.json*.FP16 datatypes.binary-in.FP16 "
         "datatypes.binary-out.FP16 numbers.*FP16* bridge.fp16-taken"),
    _row("strict", "V2 REST", "Tensor Data: one meaning in all forms", READING, "datatypes.crossed.* datatypes.digits"),
    _row("binary", "Binary data", "Binary Tensor Request", STATED, "datatypes.*binary* bytes.bits.binary bridge.official-client "
         "bridge.binary-tail-read"),
    _row("core", "OIP gRPC", "Tensor Data", STATED, "datatypes.*grpc* bytes.bits.grpc-*"),
    _row("core", "V2 REST", "Tensor Data; Tensor Data Types", STATED, "datatypes.*"),
    # shapes
    _row("core", "V2 REST", "Request Input: each dimension is an unsigned 64-bit integer; data has the shape's elements", STATED,
         "shapes.refused.too-* shapes.refused.none shapes.refused.some-for-zero shapes.refused.far-too-few shapes.refused.negative* "
         "shapes.refused.fraction shapes.refused.text shapes.refused.null shapes.refused.bool shapes.refused.nested-shape "
         "shapes.refused.huge shapes.refused.beyond-* shapes.refused.overflow-* bridge.too-few-elements"),
    _row("core", "V2 REST", "Model Metadata Response JSON Object: shape", READING, "shapes.refused.rank.*"),
    _row("strict", "V2 REST", "Tensor Data: the natural multi-dimensional representation", READING, "shapes.refused.* bridge.ragged"),
    _row("core", "V2 REST", "Tensor Data: multi-dimensional or flattened", STATED, "shapes.accepted.* bytes.nested"),
    _row("strict", "V2 REST", "Request Input: shape has no limit", READING, "shapes.many-dimensions.*"),
    _row("binary", "Binary data", "Binary Tensor Request: binary_data_size", STATED, "shapes.binary.* bridge.short-raw-request"),
    _row("binary", "Binary data", "Binary Tensor Request: shapes without elements and scalars", READING, "shapes.*.binary*"),
    _row("core", "OIP gRPC", "Inference: raw_input_contents must match shape and data type", STATED, "shapes.grpc.raw.*"),
    _row("core", "OIP gRPC", "Tensor Data: contents must match the shape", STATED, "shapes.grpc.typed.*"),
    _row("strict", "V2 REST", "Request Input: shape [] has one element, a dimension of 0 none", READING,
         "shapes.zero.* shapes.scalar.* bridge.scalar-keeps-shape"),
    # numbers
    _row("core", "V2 REST", "Tensor Data Types", STATED, "numbers.limits.* numbers.integer.exact-* numbers.integer.unsigned-exact-*"),
    _row("strict", "IEEE 754", "4.3.1, rounding to nearest, not by way of a wider format", READING, "numbers.float.*not-over-double"),
    _row("core", "IEEE 754", "4.3.1, rounding to nearest", READING, "numbers.float.*"),
    _row("strict", "IEEE 754", "5.12.2, conversion to decimal and back", READING, "numbers.shortest.*"),
    _row("binary", "Binary data", "Binary Tensor Request", STATED, "numbers.out.bits.binary-out numbers.payload.binary.*"),
    _row("core", "OIP gRPC", "Tensor Data: raw", STATED, "numbers.out.bits.grpc-raw numbers.payload.grpc-raw.*"),
    _row("strict", "RFC 8259", "6, Numbers: NaN and infinities have no form in JSON", READING, "numbers.in.* numbers.out.* numbers.payload.* "
         "numbers.null-refused.* bridge.nan-out bridge.null-*"),
    _row("strict", "V2 REST", "Tensor Data: the server coerces an element, or returns an error", READING, "numbers.* bridge.int8-* "
         "bridge.uint8-out-of-range"),
    _row("core", "V2 REST", "Tensor Data: numbers", STATED, "bridge.uint8-out-is-numbers"),
    # bytes
    _row("strict", "V2 REST", "Tensor Data: BYTES that are no text have no form in JSON", READING, "bytes.in.base64* bytes.in.b64 "
         "bytes.in.array-of-bytes bytes.in.16-* bytes.out.base64* bytes.refused.base64.*"),
    _row("core", "RFC 8259", "7, Strings", STATED, "bytes.in.* bridge.escape-*"),
    _row("strict", "RFC 8259", "7, Strings; 8, Character Encoding", READING, "bytes.refused.*"),
    _row("binary", "Binary data", "Binary Tensor Request: BYTES", STATED, "bytes.out.text.* bytes.raw-refused.binary.*"),
    _row("core", "OIP gRPC", "Inference: raw_input_contents must match shape and data type", STATED, "bytes.raw-refused.grpc.*"),
    # binary
    _row("triton", "Shared memory", "System Shared Memory, Register", STATED, "binary.shared-memory.*"),
    _row("triton", "Shared memory", "HTTP/REST: an input has one source of data", READING, "binary.unknown-shared-memory binary.data-and-shared-memory"),
    _row("core", "V2 REST", "Request Input: data", STATED, "binary.no-source"),
    _row("binary", "Binary data", "Raw Binary Request", STATED, "binary.raw.*"),
    _row("binary", "Binary data", "Binary Tensor Request: binary_data and binary_data_output", STATED, "binary.out.none binary.out.all* "
         "binary.out.one* binary.out.type.* bridge.binary-data-of-output"),
    _row("binary", "Binary data", "Binary Tensor Request: Inference-Header-Content-Length and binary_data_size", STATED,
         "binary.length.* binary.tail.* binary.size.* binary.mixed-inputs binary.order-of-blobs binary.header-covers-all binary.in-and-out.*"),
    _row("binary", "Binary data", "Binary Tensor Request", READING, "binary.*"),
    # parameters, id, requested outputs
    _row("strict", "V2 REST", "Request Output: outputs that the model lacks, or that are named twice", READING, "parameters.refused.rest.* "
         "parameters.refused.grpc.*"),
    _row("core", "V2 REST", "Parameters", STATED, "parameters.rest.* parameters.several.rest bridge.parameter.fraction "
         "bridge.parameter.beyond-double"),
    _row("core", "OIP gRPC", "Parameters", STATED, "parameters.grpc.text parameters.grpc.empty-text parameters.grpc.unicode parameters.grpc.true "
         "parameters.grpc.false parameters.grpc.zero parameters.grpc.integer parameters.grpc.negative parameters.grpc.int64-* "
         "parameters.grpc.beyond-double"),
    _row("strict", "OIP gRPC", "Parameters: double_param is in Triton's definition only", READING, "parameters.grpc.* parameters.several.grpc"),
    _row("core", "V2 REST", "Request Input: parameters", READING, "parameters.tensor.text parameters.tensor.integer"),
    _row("strict", "V2 REST", "Parameters: $string, $number or $boolean", READING, "parameters.refused.* parameters.tensor.refused.* "
         "parameters.whichever-way.* bridge.parameter.object-not-dropped"),
    _row("binary", "Binary data", "Binary Tensor Request: binary_data_output", READING, "parameters.consumed.*"),
    _row("triton", "Parameters", "introduction: reserved parameters", STATED, "parameters.reserved-prefix.*"),
    _row("triton", "Schedule", "Dynamic Batcher: priority and timeout", STATED, "parameters.accepted.*"),
    _row("triton", "Parameters", "introduction: reserved parameters, whose types other extensions define", READING, "parameters.wrong-type.*"),
    _row("triton", "Sequence", "HTTP/REST: sequence_id, sequence_start, sequence_end", STATED, "parameters.sequence"),
    _row("triton", "Classification", "HTTP/REST", STATED, "parameters.classification"),
    _row("core", "V2 REST", "Inference Request JSON Object: id is a string", STATED, "parameters.id.refused.*"),
    _row("strict", "V2 REST", "Inference Response JSON Object: the id given in the request, if any", READING, "parameters.id.rest.none"),
    _row("strict", "OIP gRPC", "Inference: the id of the request if one was specified", READING, "parameters.id.grpc.none"),
    _row("core", "OIP gRPC", "Inference: id", STATED, "parameters.id.grpc.*"),
    _row("binary", "Binary data", "Binary Tensor Request", STATED, "parameters.id.binary parameters.model-name.binary parameters.asked.binary.* "
         "parameters.swapped"),
    _row("core", "OIP gRPC", "Inference: model_name, outputs", STATED, "parameters.model-name.grpc-raw parameters.asked.grpc-raw.*"),
    _row("core", "V2 REST", "Inference Request and Response JSON Object: id, model_name, outputs", STATED, "parameters.id.rest.* "
         "parameters.model-name.json parameters.asked.json.*"),
    # json
    _row("core", "RFC 8259", "2, JSON Grammar", STATED, "json.accepted.*"),
    _row("core", "V2 REST", "Inference Request JSON Object: an object", STATED, "json.refused.empty json.refused.space json.refused.word "
         "json.refused.array json.refused.text json.refused.number json.refused.null json.refused.truncated"),
    _row("core", "RFC 8259", "11, IANA Considerations: application/json", READING, "json.content-type.*"),
    _row("strict", "RFC 8259", "4, Objects: names should be unique", READING, "json.duplicate*"),
    _row("strict", "RFC 8259", "9, Parsers: limits of depth and of tokens", READING, "json.depth.* json.long.* json.long-number"),
    _row("generate", "Generate", "HTTP/REST", READING, "json.generate.deep"),
    _row("strict", "RFC 8259", "6, Numbers", READING, "json.no-number.* json.non-finite-*"),
    _row("strict", "RFC 8259", "2, JSON Grammar; 9, Parsers: a parser may accept other forms", READING, "json.refused.*"),
    # grpc
    _row("core", "OIP gRPC", "Inference: raw_input_contents for each input, and contents for none", STATED, "grpc.raw-and-typed "
         "grpc.raw-for-one-typed-for-other grpc.raw-count.* grpc.order.*"),
    _row("core", "OIP gRPC", "Tensor Data: the field of each data type", READING, "grpc.no-data grpc.wrong-field.* grpc.no-name grpc.nan.*"),
    _row("core", "OIP gRPC", "Tensor Data Types", STATED, "grpc.datatype.*"),
    _row("core", "Protobuf", "Unknown Fields; Last One Wins", STATED, "grpc.parsers-take.* grpc.contents-in-pieces"),
    _row("strict", "Protobuf", "Base 128 Varints", READING, "grpc.varint.*"),
    _row("strict", "OIP gRPC", "Inference; Tensor Data", READING, "grpc.*"),
    # HTTP encodings and limits
    _row("http", "RFC 9110", "5.3, Field Order", STATED, "compression.request.several-fields.*"),
    _row("http", "RFC 9110", "15.5.16, 415 Unsupported Media Type", READING, "compression.request.refused.*"),
    _row("http", "RFC 9110", "8.4, Content-Encoding", READING, "compression.request.*"),
    _row("http", "RFC 9110", "12.5.3, Accept-Encoding", STATED, "compression.response.plain.* compression.response.quality"),
    _row("http", "RFC 9110", "12.5.3, Accept-Encoding", READING, "compression.response.*"),
    _row("http", "gRPC over HTTP/2", "Message-Encoding", STATED, "compression.grpc.*"),
    _row("http", "RFC 9110", "15.5.14, 413 Content Too Large", READING, "compression.too-large.*"),
    _row("http", "RFC 9112", "7.1, Chunked Transfer Coding", STATED, "compression.chunked"),
    _row("http", "RFC 6585", "5, 431 Request Header Fields Too Large", READING, "limits.head.*"),
    _row("http", "RFC 9110", "15.5.15, 414 URI Too Long", READING, "limits.target.*"),
    _row("http", "gRPC", "RESOURCE_EXHAUSTED", READING, "limits.metadata.*"),
    # streams
    _row("streams", "Triton decoupled", "Knowing When a Decoupled Inference Request is Complete", STATED, "streaming.grpc.empty-final*"),
    _row("streams", "Triton protocols", "GRPC Status Codes: triton_grpc_error", STATED, "streaming.grpc.error-as-status.*"),
    _row("streams", "Triton decoupled", "Running Inference on Decoupled Models: ModelStreamInfer", STATED, "streaming.grpc.*"),
    _row("streams", "Triton decoupled", "Running Inference on Decoupled Models: single calls are not supported", STATED, "streaming.unary-on-decoupled.*"),
    _row("streams", "MLServer streaming", "infer_stream, server-sent events", STATED, "streaming.sse.all-in-order.path streaming.sse.id-in-each.path "
         "streaming.sse.one-response-model.path"),
    _row("streams", "MLServer streaming", "infer_stream, server-sent events", READING, "streaming.sse.*"),
    _row("streams", "RFC 9110", "12.5.1, Accept: a quality of 0", STATED, "headers.accept.events-refused"),
    # generate
    _row("generate", "Generate", "Generate Response JSON Error Object", READING, "generate.refused.*"),
    _row("generate", "Generate", "generate vs. generate_stream; Generate Request JSON Object", STATED, "generate.*"),
    # gateways
    _row("http", "RFC 9110", "7.6.1, Connection", STATED, "headers.response.hop-by-hop"),
    _row("http", "RFC 9110", "5, Fields", STATED, "headers.odd-header-is-harmless"),
    _row("http", "gRPC over HTTP/2", "Custom-Metadata", STATED, "headers.grpc.binary-metadata-is-harmless"),
    _row("http", "RFC 9110", "10.1.1, Expect", STATED, "headers.expect.refused"),
    _row("gateway", "RFC 9110", "7.6.1, Connection; 7.2, Host", STATED, "headers.dropped.* headers.host.*"),
    _row("gateway", "Trace Context", "traceparent and tracestate", STATED, "headers.forwarded.*.trace* bridge.forwarded.*.traceparent"),
    _row("gateway", "RFC 9110", "7.6, Message Forwarding", READING, "headers.forwarded.* bridge.forwarded.*"),
    _row("gateway", "gRPC over HTTP/2", "Timeout", READING, "headers.deadline"),
    _row("gateway", "gRPC", "status codes and HTTP", READING, "headers.code.* headers.status.* bridge.status.*"),
    _row("gateway", "V2 REST", "Inference Response JSON Error Object", READING, "headers.* bridge.short-raw-answer"),
    _row("strict", "V2 REST", "Inference Request JSON Object: any number of inputs", READING, "upstream.300-inputs.answered.*"),
    _row("core", "V2 REST", "Model Metadata Response JSON Object: the inputs required by the model", READING, "upstream.no-inputs.answered.*"),
    _row("gateway", "V2 REST", "Inference Request JSON Object", READING, "upstream.*"),
    _row("strict", "V2 REST", "Inference Response JSON Error Object", READING, "bridge.error-form.*"),
)


@cache
def basis_of(id):
    """The basis of the case with this id."""
    return next(basis for patterns, basis in TABLE if any(fnmatchcase(id, pattern) for pattern in patterns))


def unused_patterns(ids):
    """Patterns that decide nothing: a case was renamed, or an earlier row has it."""
    decided = set()
    for id in ids:
        decided.add(next(pattern for patterns, _ in TABLE for pattern in patterns if fnmatchcase(id, pattern)))
    return [pattern for patterns, _ in TABLE for pattern in patterns if pattern not in decided]
