"""Cases, their registration, and the endpoint that they are given.

A case is a function of an Endpoint. It returns when the endpoint did right, fails by AssertionError, and raises
NotApplicable when the endpoint has not what it needs.
"""
from dataclasses import dataclass
from functools import partial
from typing import Callable

from .client import TIMEOUT, Grpc, NotApplicable, Rest, binary_body, grpc_request, json_body
from .models import Models
from .tensors import TYPED_FIELDS


@dataclass(frozen=True)
class Case:
    """id is stable; dangerous cases are known to crash a real server and run only on request; group is the id without its row."""
    id: str
    chapter: str
    rule: str
    run: Callable
    about: str
    group: str
    dangerous: bool = False


class Chapter:
    """The cases of one subject, in file order."""

    def __init__(self, name):
        self.name = name
        self.cases = []

    def case(self, rule, id, dangerous=False):
        """Registers the function below as one case."""
        def register(function):
            self._add(rule, id, "", function, function, dangerous)
            return function
        return register

    def each(self, rule, prefix, rows, dangerous=()):
        """Registers the function below as a case for each row of {id: arguments}."""
        def register(function):
            for key, row in rows.items():
                arguments = row if isinstance(row, tuple) else (row,)
                self._add(rule, prefix, "." + key, function, partial(_call, function, arguments), key in dangerous)
            return function
        return register

    def _add(self, rule, prefix, key, function, run, dangerous):
        group = prefix if prefix.startswith("bridge") else f"{self.name}.{prefix}"
        self.cases.append(Case(group + key, self.name, rule, run, _about(function), group, dangerous))


def _about(function):
    """The first paragraph of its documentation, or its name."""
    if function.__doc__:
        return " ".join(function.__doc__.split("\n\n")[0].split())
    return function.__name__.replace("_", " ").capitalize()


def _call(function, arguments, t):
    return function(t, *arguments)


class Endpoint:
    """The endpoint under test: its addresses, of which one may be missing, and its models.

    witness   the scripted upstreams by protocol, if the endpoint is a gateway that routes to them
    tls       how its addresses are reached over TLS, by "rest" and "grpc"; those that are missing are plain text
    """

    def __init__(self, rest: str | None, grpc: str | None, models: Models, witness=None, timeout: float = TIMEOUT, tls=None):
        self.rest_address, self.grpc_address, self.models, self.timeout = rest, grpc, models, timeout
        secured = tls or {}
        self._rest, self._grpc = rest and Rest(rest, timeout, secured.get("rest")), grpc and Grpc(grpc, timeout, secured.get("grpc"))
        self._witness = witness

    @property
    def rest(self) -> Rest:
        if not self._rest:
            raise NotApplicable("the endpoint has no REST address")
        return self._rest

    @property
    def grpc(self) -> Grpc:
        if not self._grpc:
            raise NotApplicable("the endpoint has no gRPC address")
        return self._grpc

    def witness(self, protocol):
        """The scripted upstream of a protocol, whose model is 'witness_rest' or 'witness_grpc'."""
        if not self._witness or protocol not in self._witness:
            raise NotApplicable(f"needs --witness-{protocol} PORT: a gateway that routes witness_{protocol} to the suite")
        return self._witness[protocol]

    def infer(self, form, model, inputs, **fields):
        """An inference over one of the FORMS. fields: id, outputs (names), parameters."""
        if form.startswith("grpc"):
            typed = form == "grpc-typed"
            if typed and any(tensor.datatype not in TYPED_FIELDS for tensor in inputs):
                raise NotApplicable("the protocol has no typed contents for this datatype")
            return self.grpc.infer(grpc_request(model, inputs, typed, **fields))
        names, parameters = fields.pop("outputs", None), dict(fields.pop("parameters", {}))
        if form in ("binary", "binary-out"):
            parameters["binary_data_output"] = True
        if parameters:
            fields["parameters"] = parameters
        if names is not None:
            fields["outputs"] = [{"name": name} for name in names]
        path = f"/v2/models/{model}/infer"
        if form in ("binary", "binary-in"):
            headers, body = binary_body(inputs, **fields)
            return self.rest.post(path, body, headers).result()
        return self.rest.post(path, json_body(inputs, nested=form == "json-nested", **fields)).result()

    def send(self, echo, data, shape=None, /, **changes):
        """The response to a JSON request with changes to its main tensor."""
        return self.rest.post(echo.path + "/infer", echo.body(data, shape, **changes))

    def infer_json_binary(self, echo, data):
        """The output for JSON data, requested in binary form, so that the formatting of numbers does not matter."""
        body = {"parameters": {"binary_data_output": True}, **echo.body(data)}
        return self.rest.post(echo.path + "/infer", body).result()[echo.output]
