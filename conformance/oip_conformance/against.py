"""oip-conformance against: what would change for the clients of a running server if Isthmus were in front of it."""
import argparse
import contextlib
import gzip
import json
import math
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter, namedtuple
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from google.protobuf.json_format import MessageToDict

from . import messages as pb
from .against_cases import GRPC, REST
from .against_documented import Pair, reasons
from .cases import Endpoint
from .cases_models import inputs_of
from .client import LENGTH, Answer, NotApplicable, grpc_result, json_body
from .models import Models
from .ports import free_port
from .running import answers
from .tensors import Tensor, from_json, parse
from .tls import Tls, problem
from .usage import UsageError, address, positive

IDENTICAL, DOCUMENTED, DIFFERS = "identical", "documented", "differs"
NOT_APPLICABLE, NOT_RUN = "not applicable", "not run"
START = 30.0              # seconds in which the gateway starts, and then sees what the server is
GENTLE = 0.2              # seconds from one request to the next with --gentle
LOOKED_AT, TRIED = 20, 5  # listed models: whose metadata are read, and that get an inference
MOST_ELEMENTS = 1 << 20   # of the inputs of a model
# The model that gets requests: its path below /v2, its inputs as Tensors of zeros, the names of its outputs and versions.
Model = namedtuple("Model", "name path inputs outputs versions")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EPILOG = """
Reads health, metadata and the index, infers zeros with one model, and sends what a server refuses; it loads and unloads nothing.

exit status: 0 nothing differs but what docs/reference names (documented), 1 something else does, such as a tensor, or was not run,
             2 usage, 3 the server or the gateway cannot be reached
"""


class Unreachable(Exception):
    """The server or the gateway does not answer; the message says which, and why."""


class Side(Endpoint):
    """The server, or the gateway in front of it: an endpoint with the model of the requests, and the extensions of the server."""
    extensions, chosen = (), None

    def __init__(self, rest, grpc, timeout, tls, seconds):
        super().__init__(rest, grpc, Models("against", {}), timeout=timeout, tls=tls)
        self.seconds, self.tls = seconds, tls

    @property
    def model(self):
        if not self.chosen:
            raise NotApplicable("no listed model takes zeros: name one with --model NAME")
        return self.chosen

    def ask(self, method, path, body=None, kind=dict):
        """The JSON of a 200 if it is of this kind, otherwise an empty one."""
        time.sleep(self.seconds)
        with contextlib.suppress(AssertionError):
            found = self.rest.call(method, "/v2" + path, body).ok().json()
            return found if isinstance(found, kind) else kind()
        return kind()


def parser():
    made = argparse.ArgumentParser(prog="oip-conformance against", description=__doc__.split(": ", 1)[1], epilog=_EPILOG,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("url", help="REST address of the server: HOST:PORT, http://HOST:PORT or https://HOST:PORT")
    made.add_argument("--grpc", metavar="ADDRESS", help="its gRPC address; without one, the cases of gRPC do not apply")
    started = made.add_mutually_exclusive_group()
    started.add_argument("--through", metavar="URL", help="a running gateway in front of it; without one, --isthmus is started")
    made.add_argument("--isthmus", metavar="COMMAND", default="isthmus", help="the gateway's command (default: %(default)s)")
    started.add_argument("--protocol", choices=("rest", "grpc"), help="in which the started gateway calls it (default: grpc with --grpc)")
    made.add_argument("--model", metavar="NAME", help="the model that gets zeros; default: the smallest listed one that takes them")
    made.add_argument("--request", metavar="FILE", help="a JSON inference request: its inputs are sent to --model in place of zeros, "
                      "also to one whose metadata name no inputs")
    made.add_argument("--gentle", action="store_true", help="at most five requests a second")
    made.add_argument("--timeout", metavar="SECONDS", type=positive, default=5.0, help="for each request (default: %(default)g)")
    made.add_argument("--time-limit", metavar="SECONDS", type=positive, default=60.0, help="for all cases (default: %(default)g)")
    made.add_argument("--ca-file", "--ca", metavar="FILE", help="over TLS: the issuers of certificates; default: the system's")
    made.add_argument("--json", metavar="FILE", help="write the outcomes as JSON")
    return made


def requested(side, name, file):
    """The Model of this name with the inputs of a JSON request, and the outputs of the server's response to it. UsageError."""
    if not name:
        raise UsageError("--request is for the model that --model NAME names")
    try:
        inputs = [Tensor(one["name"], one["datatype"], tuple(map(int, one["shape"])), from_json(one["datatype"], one["data"]))
                  for one in parse(Path(file).read_text())["inputs"]]
    except (AssertionError, KeyError, OSError, TypeError, ValueError) as error:
        raise UsageError(f"{file} is no JSON inference request with the data of its inputs: {error}") from None
    path = f"/models/{quote(name, '')}"
    outputs = [str(one["name"]) for one in side.ask("POST", path + "/infer", json_body(inputs)).get("outputs") or [] if "name" in one]
    if not inputs or not outputs:
        raise UsageError(f"the server's model '{name}' does not infer the request in {file}")
    return Model(name, path, inputs, outputs, side.ask("GET", path).get("versions"))


def choose(side, name):
    """The Model of this name, or the smallest listed one that takes zeros and has no state; None if there is none.
    UsageError if the named one has no metadata of which a request can be made."""
    names = [name] if name else listed(side)[:LOOKED_AT]
    found = [metadata for each in names if usable(metadata := side.ask("GET", f"/models/{quote(each, '')}"))]
    if name and not found:
        raise UsageError(f"the server has no model '{name}' with outputs, and inputs of {MOST_ELEMENTS} elements at most")
    for metadata in sorted(found, key=size)[:TRIED]:
        path, inputs = f"/models/{quote(metadata['name'], '')}", inputs_of(metadata)
        config = {} if name else side.ask("GET", path + "/config")
        special = "sequence_batching" in config or (config.get("model_transaction_policy") or {}).get("decoupled")
        if name or not special and side.ask("POST", path + "/infer", json_body(inputs)):
            return Model(metadata["name"], path, inputs, [one["name"] for one in metadata["outputs"]], metadata.get("versions"))
    return None


def listed(side):
    """The names of the models that are ready: Triton's and MLServer's index, or KServe's list."""
    index = side.ask("POST", "/repository/index", {}, list) or side.ask("GET", "/models").get("models") or []
    entries = [{"name": each} if isinstance(each, str) else each for each in index]
    return list(dict.fromkeys(str(each["name"]) for each in entries if "name" in each and each.get("state", "READY") == "READY"))


def size(metadata):
    """The model with the lowest one is the best choice: datatypes that JSON has, few elements, numbers."""
    kinds = {one["datatype"] for one in metadata["inputs"]}
    elements = sum(math.prod(max(at, 1) for at in one["shape"]) for one in metadata["inputs"])
    return bool(kinds & {"FP16", "BF16"}), elements, kinds != {"FP32"}


def usable(metadata):
    """Whether a request of zeros can be made of what the server says about a model."""
    try:
        return bool(metadata["outputs"][0]["name"] and metadata["name"] and size(metadata)[1] <= MOST_ELEMENTS and inputs_of(metadata))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False


def fields(answer):
    """What a client sees of an answer, as JSON values; an id that a server made up is <uuid>."""
    if isinstance(answer, Answer):
        encoding, kind, length = (answer.headers.get(name) for name in ("content-encoding", "content-type", LENGTH))
        body = gzip.decompress(answer.body) if encoding == "gzip" else answer.body
        at = int(length) if length and length.isdecimal() else len(body)
        parsed = text = _UUID.sub("<uuid>", body[:at].decode("utf-8", "backslashreplace"))
        with contextlib.suppress(ValueError):
            parsed = json.loads(text)
        return {"status": answer.status, "content-type": kind and kind.split(";")[0].strip().lower(), "encoding": encoding,
                "body": parsed, "binary data": body[at:].hex() if length else None}
    shown = {key: [MessageToDict(each) for each in value] if key == "messages" else value for key, value in answer.items()}
    return json.loads(_UUID.sub("<uuid>", json.dumps(shown)))


def differing(one, other, path=""):
    """{path: both values} where two values differ: 1 is not 1.0, and the order of members says nothing."""
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = {f"{path}.{key}" if path else key: (one.get(key, None), other.get(key, None)) for key in {**one, **other}}
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = {f"{path}[{at}]": pair for at, pair in enumerate(zip(one, other))}
    else:
        return {} if repr(one) == repr(other) else {path: (one, other)}
    return {at: both for key, pair in pairs.items() for at, both in differing(*pair, key).items()}


@dataclass(frozen=True)
class Compared:
    """The outcome of a case: with what differs, and the status, on the server and on the gateway; or with a reason."""
    id: str
    state: str
    reason: str = ""
    direct: dict | None = None
    through: dict | None = None


def tensors(answer):
    """The bits of an answer's tensors by name, for each message of a stream; None if it is no inference, or cannot be read."""
    with contextlib.suppress(AssertionError, ValueError, KeyError):
        if isinstance(answer, Answer):
            results = [answer.result()]
        else:
            messages = [getattr(each, "infer_response", each) for each in answer["messages"]]
            results = [grpc_result(each) for each in messages if isinstance(each, pb.ModelInferResponse) and each.outputs]
        return [{name: tensor.bits() for name, tensor in each.outputs.items()} for each in results] or None
    return None


def answered(case, side):
    """The fields of a case's answer, and its tensors; NotApplicable if the case does not apply to the server."""
    time.sleep(side.seconds)
    try:
        answer = case.run(side)
        return fields(answer), tensors(answer)
    except (AssertionError, OSError, EOFError) as failure:
        return {"status": "broken", "reason": str(failure)}, None


def compare(case, direct, through):
    try:
        (one, sent), (other, came) = answered(case, direct), answered(case, through)
        found = differing(one, other)
        varying = differing(one, answered(case, direct)[0]) if found else {}
    except NotApplicable as missing:
        return Compared(case.id, NOT_APPLICABLE, str(missing))
    left = {path: both for path, both in found.items() if path not in varying}
    if not left:
        return Compared(case.id, IDENTICAL, f"but for {', '.join(varying)}, which vary on the server" if found else "")
    why = reasons(Pair(case.id, one, other, sent and came and sent == came), left)
    shown = {"status": (one.get("status"), other.get("status")), **{re.sub(r"\[\d+]", "[]", path): both for path, both in left.items()}}
    return Compared(case.id, DOCUMENTED if why else DIFFERS, "; ".join(why),
                    *({path: both[at] for path, both in shown.items()} for at in (0, 1)))


def line(side):
    """What one side has, on a line."""
    parts = (f"{path} {value}" if isinstance(value, str) and value else f"{path} {json.dumps(value)}"
             for path, value in side.items() if value is not None)
    text = " ".join(", ".join(parts).split())
    return text if len(text) <= 160 else text[:156] + " ..."


def table(outcomes):
    """The outcomes as text: those that are alike together, those that differ with a line for each side."""
    groups, count = {}, Counter(each.state for each in outcomes)
    for state in (IDENTICAL, NOT_APPLICABLE, NOT_RUN, DOCUMENTED, DIFFERS):
        for each in outcomes:
            if each.state == state:
                sides = f"\n    direct   {line(each.direct)}\n    Isthmus  {line(each.through)}" if each.direct else ""
                groups.setdefault((state, each.reason and f": {each.reason}", sides), []).append(each.id)
    return "\n".join([*(f"{state:15} {', '.join(ids)}{reason}{sides}" for (state, reason, sides), ids in groups.items()),
                      ", ".join(f"{number} {state}" for state, number in count.items())])


def configuration(port, at, protocol, tls):
    """The configuration of a gateway in front of this address only: JSON, which is YAML."""
    secured = {"tls": {"ca": str(Path(tls.ca).absolute())} if tls.ca else {}} if tls else {}
    server = {"protocol": protocol, "endpoints": [at], "discover": True, **secured}
    return json.dumps({"listeners": [{"host": "127.0.0.1", "port": port}], "health": {"warm_up": "0s"},
                       "upstreams": {"server": server}, "default_upstream": "server"})


@contextlib.contextmanager
def gateway(command, at, text):
    """Runs a gateway during the block, which listens at HOST:PORT. Unreachable with its last words if it does not start."""
    with tempfile.TemporaryDirectory(prefix="isthmus-against-") as folder, (words := Path(folder, "log")).open("wb") as log:
        file = Path(folder, "isthmus.yaml")
        file.write_text(text)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # it ends the gateway, too
        process = subprocess.Popen([command, "serve", "--config", str(file)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            started, end = Side(at, None, 1.0, {}, 0), time.monotonic() + START
            while not answers(started, seconds=0.1):
                if process.poll() is not None or time.monotonic() > end:
                    raise Unreachable(f"{command} did not start: {' / '.join(words.read_text(errors='replace').splitlines()[-5:])}")
            yield
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=10)
            process.kill()
            process.wait()


def await_alike(direct, through):
    """Waits until the gateway has seen what the server is, at most START: server and model are as ready."""
    paths = ["/v2/health/ready", *([f"/v2{direct.chosen.path}/ready"] if direct.chosen else [])]
    end = time.monotonic() + START
    while time.monotonic() < end:
        with contextlib.suppress(AssertionError):
            if all(through.rest.get(path).status == direct.rest.get(path).status for path in paths):
                return
        time.sleep(GENTLE)


def sides(given):
    """The server, and the gateway in front of it with what starts it, or None if it runs. UsageError, Unreachable."""
    (rest, rest_tls), (grpc, grpc_tls) = address(given.url, "the server's address"), address(given.grpc, "--grpc")
    via, via_tls = address(given.through, "--through")
    protocol, tls, seconds = given.protocol or ("grpc" if grpc else "rest"), Tls(given.ca_file), GENTLE * given.gentle
    if protocol == "grpc" and not grpc:
        raise UsageError("--protocol grpc is for a server with --grpc HOST:PORT")
    if not via and not shutil.which(given.isthmus):
        raise UsageError(f"'{given.isthmus}' is no command: name the gateway's with --isthmus, or a running one with --through URL")
    used = {name: tls for name, secured in (("rest", rest_tls), ("grpc", grpc_tls)) if secured}
    port = free_port()
    at = via or f"127.0.0.1:{port}"
    start = None if via else lambda: gateway(
        given.isthmus, at, configuration(port, grpc if protocol == "grpc" else rest, protocol, used.get(protocol)))
    return (Side(rest, grpc, given.timeout, used, seconds),
            Side(at, grpc and at, given.timeout, dict.fromkeys(("rest", "grpc"), tls) if via_tls else {}, seconds), start)


def unreachable(side):
    """Why the server or the gateway does not answer, or None."""
    found = problem(side.rest_address, side.grpc_address, side.tls, side.timeout)
    if found or not answers(side, seconds=1.0):
        return found or f"nothing answers at {side.rest_address}"
    try:
        if side.grpc_address:
            side.grpc.call("ServerLive", pb.ServerLiveRequest())
    except AssertionError as failure:
        if "UNAVAILABLE" in str(failure) or "DEADLINE_EXCEEDED" in str(failure):
            return f"no gRPC answers at {side.grpc_address}: {failure}"
    return None


def main(arguments):
    given = parser().parse_args(arguments)
    direct, through, start = sides(given)
    for side in (direct,) if start else (direct, through):
        if found := unreachable(side):
            raise Unreachable(found)
    about = direct.ask("GET", "")
    direct.chosen = through.chosen = requested(direct, given.model, given.request) if given.request else choose(direct, given.model)
    direct.extensions = through.extensions = about.get("extensions", ())
    with start() if start else contextlib.nullcontext():
        await_alike(direct, through)
        end = time.monotonic() + given.time_limit
        outcomes = [compare(case, direct, through) if time.monotonic() < end else Compared(case.id, NOT_RUN, "--time-limit was over")
                    for case in [*REST.cases, *GRPC.cases]]
    server = f"{about.get('name', 'unknown')} {about.get('version', '')}".strip()
    model = direct.chosen and direct.chosen.name
    print(f"{server} at {direct.rest_address}, model {model or '(none)'}, alone and behind Isthmus at {through.rest_address}")
    print(table(outcomes))
    if given.json:
        try:
            Path(given.json).write_text(json.dumps({"server": server, "model": model, "cases": [*map(asdict, outcomes)]}, indent=1))
        except OSError as error:
            raise UsageError(f"{given.json} cannot be written: {error}") from None
    return int(any(each.state in (DIFFERS, NOT_RUN) for each in outcomes))
