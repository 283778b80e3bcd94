"""Latency, failures and drift on demand."""
import random
import threading
from dataclasses import asdict, dataclass, fields

KINDS = ("none", "error", "hang", "close", "half", "nonsense", "html", "drip", "flood", "crash")
DRIFTS = ("none", "name", "datatype", "shape", "missing", "extra", "metadata")
CODES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 408: "DEADLINE_EXCEEDED",
         409: "ABORTED", 429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE",
         504: "DEADLINE_EXCEEDED"}
_NUMBERS = {"latency_ms": (0, 3_600_000), "jitter_ms": (0, 3_600_000), "rate": (0, 1), "count": (-1, 2**31), "status": (400, 599)}


class FaultError(Exception):
    """A fault that does not exist; the message names value and expectation."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong.

    latency_ms, jitter_ms   before each response, and at most as much more
    kind      error: an error response; hang: none; close: the connection is closed; half: half a response; nonsense: bytes that are
              no response; html: a page with status 200; drip: a byte each second; flood: an endless body; crash: the process ends
    status, message         of an error; gRPC has the code that belongs to the status
    drift     the response differs from the metadata in name, datatype, shape, by a missing or an extra output; metadata: the
              metadata differ from the response
    rate      the share of calls that are concerned
    count     the number of calls that are concerned, -1 for all
    calls     infer, or all: also health, metadata and repository
    """
    latency_ms: float = 0
    jitter_ms: float = 0
    kind: str = "none"
    status: int = 503
    message: str = "the double fails on demand"
    drift: str = "none"
    rate: float = 1
    count: int = -1
    calls: str = "infer"

    @staticmethod
    def of(values):
        """A fault from a JSON object."""
        if not isinstance(values, dict):
            raise FaultError(f"fault is {values!r:.80}, expected an object")
        unknown = sorted(set(values) - {field.name for field in fields(Fault)})
        if unknown:
            raise FaultError(f"fault has {unknown}, expected some of {[field.name for field in fields(Fault)]}")
        for name, (low, high) in _NUMBERS.items():
            value = values.get(name, low)
            kind = int if name in ("count", "status") else int | float
            if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
                raise FaultError(f"{name} is {value!r}, expected a number of {low} to {high}")
        for name, known in (("kind", KINDS), ("drift", DRIFTS), ("calls", ("infer", "all"))):
            if values.get(name, known[0]) not in known:
                raise FaultError(f"{name} is {values[name]!r}, expected one of {', '.join(known)}")
        if not isinstance(values.get("message", ""), str):
            raise FaultError(f"message is {values['message']!r}, expected a text")
        return Fault(**values)

    @property
    def code(self):
        return CODES.get(self.status, "UNKNOWN")


NONE = Fault()


class Faults:
    """The faults of a double: one for all models, and one for each that has its own."""

    def __init__(self, seed=0):
        self._lock = threading.Lock()
        self._random = random.Random(seed)
        self._of = {}
        self._left = {}

    def put(self, model, fault):
        """Sets the fault of a model, or with None of all that have none of their own."""
        with self._lock:
            self._of[model], self._left[model] = fault, fault.count

    def clear(self):
        with self._lock:
            self._of.clear()
            self._left.clear()

    def shown(self):
        with self._lock:
            return [{**({"model": model} if model else {}), **asdict(fault)} for model, fault in self._of.items()]

    def drifts_metadata(self, model):
        with self._lock:
            return self._of.get(model, self._of.get(None, NONE)).drift == "metadata"

    def next(self, model, infer):
        """The fault of one call, and the seconds to wait before it is answered."""
        with self._lock:
            key = model if model in self._of else None
            fault = self._of.get(key, NONE)
            if not infer and fault.calls != "all":
                return NONE, 0.0
            seconds = (fault.latency_ms + self._random.random() * fault.jitter_ms) / 1000
            if self._left.get(key, -1) == 0 or self._random.random() >= fault.rate:
                return NONE, seconds
            if self._left.get(key, -1) > 0:
                self._left[key] -= 1
            return fault, seconds
