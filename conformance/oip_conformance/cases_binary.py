"""The binary tensor data extension: R16, and R10, one source of data for each input."""
import uuid
from multiprocessing.shared_memory import SharedMemory

from .cases import Chapter
from .client import LENGTH, NotApplicable, answer_of, binary_body, expect, framed, grpc_request, set_parameter
from .tensors import SAMPLES, Tensor, Token, from_json, pack, parse, tensor

CHAPTER = Chapter("binary")
case, each = CHAPTER.case, CHAPTER.each
EIGHT = pack("FP32", [1.5, -2.5])


def request(t, length=None, blob=EIGHT, size=8, data=None, **parameters):
    """An FP32 tensor of two elements with all kinds of wrong sizes."""
    echo = t.models.echo("FP32", free=True)
    main = {"name": echo.input, "shape": list(echo.shape(2)), "datatype": "FP32",
            "parameters": {"binary_data_size": size, **parameters}, **({} if data is None else {"data": data})}
    headers, body = framed({"inputs": [main]}, blob, length)
    return t.rest.post(echo.path + "/infer", body, headers), echo


@each("R16", "length", {"one": 1, "beyond-body": 100000, "huge": 2**64, "beyond-int64": 2**63, "negative": -1, "text": "abc",
                        "fraction": "10.0", "empty": "", "hexadecimal": "0x40", "two": "80, 80", "inside-json": 20})
def wrong_length(t, length):
    """A header length that is no number, or not within the body: 400."""
    request(t, length)[0].refused(400)


@case("R16", "length.twice")
def length_twice(t):
    """Two contradicting headers."""
    echo = t.models.echo("FP32", free=True)
    headers, body = binary_body(echo.inputs([1.5, -2.5]))
    connection = t.rest.connection()
    try:
        connection.putrequest("POST", echo.path + "/infer")
        for value in (headers["Inference-Header-Content-Length"], "10"):
            connection.putheader("Inference-Header-Content-Length", value)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer_of(connection.getresponse()).refused(400)
    finally:
        connection.close()


@each("R16", "tail", {"short": EIGHT[:6], "none": b"", "surplus": EIGHT + b"\0\0", "surplus-one": EIGHT + b"\0"})
def wrong_tail(t, blob):
    """Less or more bytes than the inputs announce: 400."""
    request(t, blob=blob)[0].refused(400)


@each("R16", "size", {"negative": -8, "text": "8", "fraction": Token("8.5"), "null": None, "bool": True, "small": 4, "large": 12,
                      "huge": 2**62, "beyond-int64": 2**64})
def wrong_size(t, size):
    """A binary_data_size that is no number, or does not fit the shape: 400."""
    request(t, size=size)[0].refused(400)


@case("R16", "size.without-header")
def size_without_header(t):
    """binary_data_size without the header that says where the JSON ends: 400."""
    echo = t.models.echo("FP32", free=True)
    _, body = binary_body(echo.inputs([1.5, -2.5]))
    t.rest.post(echo.path + "/infer", body).refused(400)


@case("R10", "both-sources")
def both_sources(t):
    """An input with data and with binary_data_size: 400."""
    request(t, data=[1.5, -2.5])[0].refused(400)


@case("R10", "both-sources-empty-data")
def both_sources_empty(t):
    """An input with empty data and with binary_data_size: 400."""
    request(t, data=[])[0].refused(400)


@case("R10", "no-source")
def no_source(t):
    """An input without data: 400."""
    t.send(t.models.echo("FP32"), [1], data=None).refused(400)


@case("R10", "unknown-shared-memory")
def unknown_shared_memory(t):
    """An endpoint without shared memory refuses it; with it, the region is unknown."""
    t.send(t.models.echo("FP32"), [1], data=None, parameters={
        "shared_memory_region": "isthmus_no_such_region", "shared_memory_byte_size": 4}).refused(400, 404)


@case("R10", "data-and-shared-memory")
def data_and_shared_memory(t):
    """An input with data and in shared memory: 400."""
    t.send(t.models.echo("FP32"), [1], parameters={
        "shared_memory_region": "isthmus_no_such_region", "shared_memory_byte_size": 4}).refused(400)


@each("R16", "content-type", {"json": "application/json", "octet": "application/octet-stream", "none": None,
                              "text": "text/plain"})
def content_type(t, kind):
    """The header decides, not the content type."""
    echo = t.models.echo("FP32", free=True)
    headers, body = binary_body(echo.inputs([1.5, -2.5]))
    headers["Content-Type"] = kind
    if kind is None:
        del headers["Content-Type"]
        headers["Accept"] = "*/*"
    expect("output", t.rest.post(echo.path + "/infer", body, headers).result()[echo.output].raw, EIGHT)


@case("R16", "header-covers-all")
def header_covers_all(t):
    """The header covers the whole body, with JSON data only."""
    echo = t.models.echo()
    headers, body = framed(echo.body([1]), b"")
    t.rest.post(echo.path + "/infer", body, headers).result()


@case("R16", "mixed-inputs")
def mixed_inputs(t):
    """Some inputs as JSON, some binary."""
    sums = t.models.need("sums")
    left, right = tensor("INPUT0", "INT32", (1, 16), range(16)), tensor("INPUT1", "INT32", (1, 16), [1] * 16)
    inputs = [{"name": "INPUT0", "shape": [1, 16], "datatype": "INT32", "data": list(range(16))},
              {"name": "INPUT1", "shape": [1, 16], "datatype": "INT32", "parameters": {"binary_data_size": len(right.raw)}}]
    headers, body = framed({"inputs": inputs}, right.raw)
    result = t.rest.post(f"/v2/models/{sums}/infer", body, headers).result()
    expect("OUTPUT0", [int(x) for x in result["OUTPUT0"].elements()], [int(x) + 1 for x in left.elements()])


@case("R16", "order-of-blobs")
def order_of_blobs(t):
    """Blobs are in the order of the inputs that have them, independent of names."""
    sums = t.models.need("sums")
    headers, body = binary_body([tensor("INPUT1", "INT32", (1, 16), [1] * 16), tensor("INPUT0", "INT32", (1, 16), range(16))])
    result = t.rest.post(f"/v2/models/{sums}/infer", body, headers).result()
    expect("OUTPUT1", [int(x) for x in result["OUTPUT1"].elements()], [x - 1 for x in range(16)])


# ---------------------------------------------------------------- raw binary requests

def raw_request(t, datatype, raw, length="0"):
    echo = t.models.echo(datatype)
    headers = {"Inference-Header-Content-Length": length, "Content-Type": "application/octet-stream"}
    return t.rest.post(echo.path + "/infer", raw, headers), echo


@case("R16", "raw.refused-for-two-inputs")
def raw_two_inputs(t):
    """A raw request to a model with two inputs: 400."""
    headers = {"Inference-Header-Content-Length": "0", "Content-Type": "application/octet-stream"}
    t.rest.post(f"/v2/models/{t.models.need('sums')}/infer", bytes(64), headers).refused(400)


@case("R16", "raw.two-variable-dimensions")
def raw_two_variable(t):
    """If the first dimension is the batch, the request is a batch of one; the model's metadata do not say whether it is."""
    if t.models.echo("FP32").rank != 2:
        raise NotApplicable(f"the models '{t.models.name}' have no model with two variable dimensions")
    answer, echo = raw_request(t, "FP32", EIGHT)
    if answer.status == 200:
        expect("output", answer.result()[echo.output].bits(), "FP32[1, 2] " + EIGHT.hex())
    else:
        answer.refused(400)


@each("R16", "raw.accepted", {"length-zero": "0"})
def raw_accepted(t, length):
    """The body is the only input; its one variable dimension follows from the size; all outputs are binary."""
    slow = t.models.need("slow")
    if t.models.name != "triton":
        raise NotApplicable(f"the models '{t.models.name}' have no model with one declared input of one variable dimension")
    raw = pack("INT32", [0, 7, 2**31 - 1])
    headers = {"Inference-Header-Content-Length": length, "Content-Type": "application/octet-stream"}
    answer = t.rest.post(f"/v2/models/{slow}/infer", raw, headers)
    result = answer.result()
    expect("output", result["OUTPUT0"].bits(), "INT32[3] " + raw.hex())
    expect("binary answer", LENGTH in answer.headers, True)


@case("R16", "raw.refused-for-odd-size")
def raw_odd_size(t):
    """A raw request whose bytes are no whole elements: 400."""
    headers = {"Inference-Header-Content-Length": "0", "Content-Type": "application/octet-stream"}
    t.rest.post(f"/v2/models/{t.models.need('slow')}/infer", bytes(7), headers).refused(400)


# ---------------------------------------------------------------- binary outputs

def sums_body(**fields):
    return {"inputs": [{"name": name, "shape": [1, 16], "datatype": "INT32", "data": [1] * 16} for name in ("INPUT0", "INPUT1")],
            **fields}


def outputs_of(t, **fields):
    """Which outputs are binary, as {name: bool}, and the response."""
    answer = t.rest.post(f"/v2/models/{t.models.need('sums')}/infer", sums_body(**fields))
    response = answer.result().source
    return {output["name"]: "data" not in output for output in response["outputs"]}, answer


_ALL, _OWN = {"binary_data_output": True}, "binary_data"


@each("R16", "out", {
    "none": ({}, {"OUTPUT0": False, "OUTPUT1": False}), "all": ({"parameters": _ALL}, {"OUTPUT0": True, "OUTPUT1": True}),
    "all-false": ({"parameters": {"binary_data_output": False}}, {"OUTPUT0": False, "OUTPUT1": False}),
    "one": ({"outputs": [{"name": "OUTPUT0", "parameters": {_OWN: True}}, {"name": "OUTPUT1"}]},
            {"OUTPUT0": True, "OUTPUT1": False}),
    "one-false": ({"outputs": [{"name": "OUTPUT0", "parameters": {_OWN: False}}]}, {"OUTPUT0": False}),
    "all-listed": ({"parameters": _ALL, "outputs": [{"name": "OUTPUT0"}, {"name": "OUTPUT1"}]},
                   {"OUTPUT0": True, "OUTPUT1": True}),
    "all-but-one": ({"parameters": _ALL, "outputs": [{"name": "OUTPUT0"}, {"name": "OUTPUT1", "parameters": {_OWN: False}}]},
                    {"OUTPUT0": True, "OUTPUT1": False})})
def binary_outputs(t, fields, wanted):
    """binary_data_output applies to every output without its own binary_data."""
    expect("outputs that are binary", outputs_of(t, **fields)[0], wanted)


@each("R16", "out.type", {"binary": (_ALL, "application/octet-stream"), "json": ({}, "application/json")})
def answer_type(t, parameters, kind):
    """The response is octet-stream with the header only if an output has binary bytes."""
    echo = t.models.echo()
    answer = t.rest.post(echo.path + "/infer", {"parameters": parameters, **echo.body([1])}).ok()
    expect("content-type", answer.headers.get("content-type", "").split(";")[0], kind)
    expect("Inference-Header-Content-Length is there", LENGTH in answer.headers, kind != "application/json")


@case("R16", "out.zero-size")
def zero_size(t):
    """Binary outputs without bytes are plain JSON with binary_data_size 0."""
    echo = t.models.echo("FP32", free=True)
    answer = t.rest.post(echo.path + "/infer", {"parameters": _ALL, **echo.body([], [2, 0])}).ok()
    expect("content-type", answer.headers.get("content-type", "").split(";")[0], "application/json")
    expect("Inference-Header-Content-Length is there", LENGTH in answer.headers, False)
    output = parse(answer.text())["outputs"][0]
    expect("binary_data_size", (output.get("parameters") or {}).get("binary_data_size"), "0")


@each("R16", "out.zero-size.named", {
    f"{key}.{own}": (parameters, {"binary_data": own == "binary"})
    for key, parameters in {"alone": {}, "beside-all": _ALL}.items() for own in ("binary", "json")})
def zero_size_named(t, parameters, own):
    """An output without elements may be requested by name, in either form."""
    echo = t.models.echo("FP32", free=True)
    body = {"parameters": parameters, **echo.body([], [2, 0]), "outputs": [{"name": echo.output, "parameters": own}]}
    answer = t.rest.post(echo.path + "/infer", body)
    expect("output", answer.result()[echo.output].bits(), "FP32[2, 0] ")
    output = parse(answer.text())["outputs"][0]
    expect("'data' is there", "data" in output, not own["binary_data"])


# ---------------------------------------------------------------- outputs in shared memory

@each("R9", "shared-memory", {f"{wire}.{key}": (wire, names) for wire in ("rest", "grpc") for key, names in {
    "both": ("OUTPUT0", "OUTPUT1"), "first": ("OUTPUT0",), "second": ("OUTPUT1",)}.items()})
def shared_memory(t, wire, shared):
    """Outputs are written where requested: some to shared memory, the others to the response."""
    model = t.models.need("sums")
    if "system_shared_memory" not in t.rest.get("/v2").ok().json().get("extensions", []):
        raise NotApplicable("the endpoint's metadata have no extension system_shared_memory")
    name, wanted = "isthmus_" + uuid.uuid4().hex[:12], {"OUTPUT0": list(range(1, 17)), "OUTPUT1": list(range(-1, 15))}
    places = {output: {"shared_memory_region": name, "shared_memory_offset": 64 * at, "shared_memory_byte_size": 64}
              for at, output in enumerate(wanted) if output in shared}
    memory = SharedMemory(name, create=True, size=128)
    try:
        region = f"/v2/systemsharedmemory/region/{name}"
        t.rest.post(region + "/register", {"key": "/" + name, "offset": 0, "byte_size": 128}).ok()
        try:
            answered = asked_in_memory(t, wire, model, wanted, places)
        finally:
            t.rest.post(region + "/unregister").ok()
        for at, (output, values) in enumerate(wanted.items()):
            found = (Tensor(output, "INT32", (1, 16), bytes(memory.buf[64 * at:64 * at + 64])) if output in shared
                     else answered[output]).elements()
            expect(output, [int(value) for value in found], values)
    finally:
        memory.close()
        memory.unlink()


def asked_in_memory(t, wire, model, names, places):
    """The outputs in the response itself."""
    if wire == "rest":
        answer = t.rest.post(f"/v2/models/{model}/infer", {
            "inputs": [{"name": one.name, "shape": [1, 16], "datatype": "INT32", "data": [int(x) for x in one.elements()]}
                       for one in _SUMMANDS],
            "outputs": [{"name": name, "parameters": places.get(name, {})} for name in names]})
        outputs = parse(answer.ok().text())["outputs"]
        return {output["name"]: Tensor(output["name"], "INT32", (1, 16), from_json("INT32", output["data"]))
                for output in outputs if "data" in output}
    request = grpc_request(model, _SUMMANDS, outputs=names)
    for output in request.outputs:
        for key, value in places.get(output.name, {}).items():
            set_parameter(output, key, value)
    response = t.grpc.call("ModelInfer", request)
    return {output.name: Tensor(output.name, "INT32", (1, 16), raw)
            for output, raw in zip(response.outputs, response.raw_output_contents)}


_SUMMANDS = (tensor("INPUT0", "INT32", (1, 16), range(16)), tensor("INPUT1", "INT32", (1, 16), [1] * 16))


# ---------------------------------------------------------------- invalid requests for binary outputs

@each("R16", "out.refused", {"text": "true", "number": 1, "null": None})
def wrong_binary_data(t, value):
    """A binary_data that is no boolean: 400."""
    echo = t.models.echo()
    body = {**echo.body([1]), "outputs": [{"name": echo.output, "parameters": {"binary_data": value}}]}
    t.rest.post(echo.path + "/infer", body).refused(400)


@case("R16", "bool-byte")
def bool_byte(t):
    """A BOOL byte other than 0 and 1 is refused or true; it is never returned as another number."""
    echo = t.models.echo("BOOL")
    headers, body = binary_body(echo.raw(b"\x02", 1))
    answer = t.rest.post(echo.path + "/infer", body, headers)
    if answer.status != 400:
        expect("output", answer.result()[echo.output].raw, b"\x01")


@case("R16", "in-and-out.every-datatype")
def all_in_one(t):
    """Several binary tensors of different width in one request."""
    echo = t.models.echo("UINT8", any_rank=True)
    inputs = [tensor(f"t{n}", d, (len(SAMPLES[d]),), SAMPLES[d]) for n, d in enumerate(t.models.echoes)]
    result = t.infer("binary", echo.model, inputs)
    for one in inputs:
        expect(one.datatype, result[one.name].bits(), one.bits())
