"""What an upstream receives: many inputs, none (R5), a raw binary request (R16), and its limits (R23).

All need the scripted upstreams of witness.py behind the gateway, but for the servers that take any inputs.
"""
import uuid

from .cases import Chapter
from .cases_headers import WAYS
from .client import binary_body, expect, grpc_request
from .tensors import pack, tensor

CHAPTER = Chapter("upstream")
case, each = CHAPTER.case, CHAPTER.each

COLUMNS = [tensor(f"column{n}", "INT32", (1,), [n]) for n in range(300)]


def arrived(t, into, out, inputs):
    """The request that a witness receives for these inputs."""
    witness, script = t.witness(out), "u-" + uuid.uuid4().hex
    t.infer({"rest": "json", "grpc": "grpc-raw"}[into], f"witness_{out}", inputs, id=script)
    return witness.last(script)[1]


def inputs_of(request):
    return request["inputs"] if isinstance(request, dict) else list(request.inputs)


@each("R5", "300-inputs", WAYS)
def many_inputs(t, into, out):
    """A table has one input per column."""
    found = inputs_of(arrived(t, into, out, COLUMNS))
    expect("inputs of the upstream", [one["name"] if out == "rest" else one.name for one in found], [one.name for one in COLUMNS])


@each("R5", "300-inputs.answered", {form: form for form in ("json", "binary", "grpc-raw")})
def many_outputs(t, form):
    """A model returns 300 outputs for 300 inputs."""
    echo = t.models.echo("INT32", any_rank=True)
    result = t.infer(form, echo.model, COLUMNS)
    expect("outputs", [result[one.name].bits() for one in COLUMNS], [one.bits() for one in COLUMNS])


@each("R5", "no-inputs", WAYS)
def no_inputs(t, into, out):
    """Only the model decides whether it needs inputs."""
    expect("inputs of the upstream", inputs_of(arrived(t, into, out, [])), [])


@each("R5", "no-inputs.answered", {form: form for form in ("json", "grpc-raw")})
def no_inputs_answered(t, form):
    """A request without inputs to a model that needs some is the client's error."""
    model = t.models.need("metadata")[0]
    if form == "json":
        t.rest.post(f"/v2/models/{model}/infer", {"inputs": []}).refused(400)
    else:
        t.grpc.refused("ModelInfer", grpc_request(model, []), "INVALID_ARGUMENT")


@each("R16", "raw-batch-of-one", {out: out for out in ("rest", "grpc")})
def raw_batch_of_one(t, out):
    """If two dimensions are variable, the first is the batch, and a raw binary request is a batch of one."""
    witness = t.witness(out)
    headers = {"Inference-Header-Content-Length": "0", "Content-Type": "application/octet-stream"}
    t.rest.post(f"/v2/models/witness_{out}/infer", pack("INT32", [7, 8, 9]), headers).ok()
    found, = inputs_of(witness.last()[1])
    shape = found["shape"] if out == "rest" else found.shape
    expect("shape of the upstream's input", list(shape), [1, 3])


@each("R23", "message-size", {"rest": "rest", "grpc": "grpc"})
def message_size(t, into):
    """A gRPC server's own message limit, here 4 MiB, is not an overload: a retry would fail, too."""
    t.witness("grpc")
    inputs = [tensor("INPUT0", "INT32", (1, 5 << 18), [1] * (5 << 18))]
    if into == "rest":
        headers, body = binary_body(inputs)
        message = t.rest.post("/v2/models/witness_grpc/infer", body, headers).refused(413)
    else:
        message = t.grpc.refused("ModelInfer", grpc_request("witness_grpc", inputs), "RESOURCE_EXHAUSTED")
    assert "larger than max" in message, f"message is {message!r}, expected the upstream's words"
