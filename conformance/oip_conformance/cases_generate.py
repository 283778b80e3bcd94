"""The extension generate: inputs as keys of an object, one response or server-sent events."""
import json

from .cases import Chapter
from .cases_streaming import events
from .client import NotApplicable, expect
from .tensors import flatten

CHAPTER = Chapter("generate")
case, each = CHAPTER.case, CHAPTER.each


def has_extension(t):
    """NotApplicable if the endpoint lacks the extension, or the models that its cases need."""
    if "generate" not in t.models.features:
        raise NotApplicable(f"the models '{t.models.name}' are not for the extension generate")
    # Triton has the extension without saying so in its metadata.
    right = t.rest.post(f"/v2/models/{t.models.need('slow')}/generate", {"INPUT0": [0]})
    if right.status in (404, 405, 501):
        raise NotApplicable(f"the endpoint has no extension generate: status {right.status}")


def generate(t, model, body, path="generate"):
    has_extension(t)
    return t.rest.post(f"/v2/models/{model}/{path}", body)


def numbers(values):
    """A value, or a list, as a list."""
    return flatten(values) if isinstance(values, list) else [values]


@each("R17", "answer", {"list": [0], "number": 0})
def answer(t, value):
    """The keys of the object are the model's inputs; those of the response its outputs."""
    body = generate(t, t.models.need("slow"), {"INPUT0": value}).ok().json()
    expect("OUTPUT0", numbers(body.get("OUTPUT0")), [0])
    expect("model_name", body.get("model_name"), t.models.slow)


@case("R17", "unknown-keys")
def unknown_keys(t):
    """Keys that are no inputs are parameters, and do not disturb the model."""
    body = generate(t, t.models.need("slow"), {"INPUT0": [0], "temperature": 0.5, "stop": False}).ok().json()
    expect("OUTPUT0", numbers(body.get("OUTPUT0")), [0])


@case("R17", "stream")
def stream(t):
    """generate_stream sends each response as an event."""
    has_extension(t)
    model = t.models.need("stream")
    body = {one.name: [int(value) for value in one.elements()] for one in model.inputs}
    found = events(generate(t, model.model, body, "generate_stream"))
    wanted = [int.from_bytes(value, "little") for value in model.values]
    expect(model.output, [number for event in found for number in numbers(event.get(model.output, []))], wanted)


@case("R17", "stream-of-one")
def stream_of_one(t):
    """A model with one response has one event."""
    found = events(generate(t, t.models.need("slow"), {"INPUT0": [0]}, "generate_stream"))
    expect("events with OUTPUT0", sum("OUTPUT0" in event for event in found), 1)


@each("R5", "refused", {"text": b"{", "array": b"[]", "missing-input": json.dumps({"text": "x"}).encode(),
                        "wrong-type": json.dumps({"INPUT0": "x"}).encode(), "empty": b""})
def refused(t, body):
    """A malformed request is the client's error, in the form of errors."""
    generate(t, t.models.need("slow"), body).refused(400)


@case("R2", "refused.unknown-model")
def refused_unknown(t):
    """An unknown model: 400 or 404 with the error object."""
    generate(t, "isthmus_no_such_model", {"INPUT0": [0]}).refused(400, 404)


@case("R25", "refused.get")
def refused_get(t):
    """GET: 405."""
    generate(t, t.models.need("slow"), {"INPUT0": [0]}).ok()
    t.rest.get(f"/v2/models/{t.models.slow}/generate").refused(405)
