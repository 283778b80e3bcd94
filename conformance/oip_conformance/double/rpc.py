"""The gRPC server of a double."""
import os
import time
from concurrent.futures import ThreadPoolExecutor

import grpc

from .. import messages as pb
from ..client import MAX_RECEIVED, parameter_value, set_parameter
from .faults import CODES
from .inference import Request, ServerError, answers, check, inputs_of_grpc, version_of

MAX_CALLS = 64


def request_of(message):
    """A request over gRPC."""
    if not message.model_name:
        raise ServerError(400, "model_name is empty")
    parameters = {key: parameter_value(value) for key, value in message.parameters.items()}
    return Request(message.id, inputs_of_grpc(message), [one.name for one in message.outputs], parameters, {})


def response_of(model, version, request, outputs):
    """The response with raw contents."""
    response = pb.ModelInferResponse(model_name=model.name, model_version=version, id=request.id)
    for one in outputs:
        response.outputs.add(name=one.name, datatype=one.datatype, shape=one.shape)
        response.raw_output_contents.append(one.raw)
    if model.returns_parameters:
        for key, value in request.parameters.items():
            if value is not None:
                set_parameter(response, key, value)
    return response


class Servicer:
    """The methods of the service that a double has."""

    def __init__(self, state):
        self._state = state

    def ServerLive(self, request, context):
        return self._managed(context, lambda: pb.ServerLiveResponse(live=True))

    def ServerReady(self, request, context):
        return self._managed(context, lambda: pb.ServerReadyResponse(ready=True))

    def ServerMetadata(self, request, context):
        return self._managed(context, lambda: pb.ServerMetadataResponse(**self._state.metadata()))

    def ModelReady(self, request, context):
        def make():
            version_of(self._state.model(request.name), request.version)
            return pb.ModelReadyResponse(ready=self._state.ready(request.name)["ready"])
        return self._managed(context, make, request.name)

    def ModelMetadata(self, request, context):
        def make():
            version_of(self._state.model(request.name), request.version)
            return pb.ModelMetadataResponse(**self._state.model_metadata(request.name))
        return self._managed(context, make, request.name)

    def RepositoryIndex(self, request, context):
        return self._managed(context, lambda: pb.RepositoryIndexResponse(models=self._state.index()))

    def RepositoryModelLoad(self, request, context):
        return self._loaded(request, context, True, pb.RepositoryModelLoadResponse())

    def RepositoryModelUnload(self, request, context):
        return self._loaded(request, context, False, pb.RepositoryModelUnloadResponse())

    def ModelInfer(self, request, context):
        def make():
            found, fault = list(self._responses(request, context, single=True))[0]
            return self._spoiled(fault, found, context)
        return self._guarded(context, make)

    def ModelStreamInfer(self, requests, context):
        for message in requests:
            try:
                for response, fault in self._responses(message, context, single=False):
                    whole = pb.ModelStreamInferResponse(infer_response=response)
                    yield from self._spoiled_stream(fault, whole)
            except ServerError as error:
                yield pb.ModelStreamInferResponse(error_message=error.message,
                                                  infer_response=pb.ModelInferResponse(model_name=message.model_name, id=message.id))

    def _responses(self, message, context, single):
        """Each response message, and the fault of the call."""
        model = self._state.model(message.model_name, ready=True)
        self._state.count(model.name)
        version = version_of(model, message.model_version)
        fault = self._endure(model.name, context, infer=True)
        request = request_of(message)
        check(model, request)
        if single and model.answers == "repeat":
            raise ServerError(501, f"model '{model.name}' answers several times: use ModelStreamInfer")
        for outputs in answers(model, request, version, fault):
            yield response_of(model, version, request, outputs), fault

    def _loaded(self, request, context, load, response):
        def make():
            self._state.load(request.model_name, load)
            return response
        return self._managed(context, make)

    def _managed(self, context, make, model=None):
        def whole():
            fault = self._endure(model, context, infer=False)
            return self._spoiled(fault, make(), context)
        return self._guarded(context, whole)

    @staticmethod
    def _guarded(context, make):
        try:
            return make()
        except ServerError as error:
            context.abort(getattr(grpc.StatusCode, CODES.get(error.status, "UNKNOWN")), error.message)

    def _endure(self, model, context, infer):
        """Waits as the fault says, and returns it. A connection cannot be closed from here: the call ends with UNAVAILABLE."""
        fault, seconds = self._state.faults.next(model, infer)
        if seconds:
            self._state.stopping.wait(seconds)
        if fault.kind == "error":
            raise ServerError(fault.status, fault.message)
        if fault.kind in ("hang", "drip"):
            while context.is_active() and not self._state.stopping.wait(0.05):
                pass
        if fault.kind == "crash":
            self._state.crash()
        if fault.kind in ("hang", "drip", "close", "crash"):
            raise ServerError(503, "the double closes the call on demand")
        return fault

    @staticmethod
    def _spoiled(fault, response, context):
        """The response, or bytes that are none."""
        encoded = response.SerializeToString()
        if fault.kind == "half":
            return encoded[:max(1, len(encoded) // 2)]
        if fault.kind in ("nonsense", "html"):
            return b"\xff" + os.urandom(64)
        if fault.kind == "flood":
            return bytes(MAX_RECEIVED + (1 << 20))
        return response

    def _spoiled_stream(self, fault, response):
        if fault.kind == "flood":
            end = time.monotonic() + 600
            while time.monotonic() < end and not self._state.stopping.is_set():
                yield response
        else:
            yield self._spoiled(fault, response, None)


def start(address, state):
    """A running gRPC server, and its port."""
    server = grpc.server(ThreadPoolExecutor(MAX_CALLS), options=[
        ("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", MAX_RECEIVED), ("grpc.max_send_message_length", -1)])
    server.add_generic_rpc_handlers([pb.handler(Servicer(state))])
    try:
        port = server.add_insecure_port(address)
    except RuntimeError as error:
        raise OSError(f"gRPC cannot listen on {address}: {error}") from None
    server.start()
    return server, port
