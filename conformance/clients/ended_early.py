"""Keeps a stream open while calls expire and streams are cancelled, all on one connection.

Usage: ended_early.py ADDRESS ENDED      ENDED calls expire and as many streams are cancelled; then the stream must still work
"""
import sys
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import grpc
import numpy
from tritonclient.grpc import service_pb2, service_pb2_grpc

AT_ONCE = 16
SLOW_MS, DEADLINE_S = 5, 0.02  # the model has one instance: most concurrent requests wait longer than the deadline
END = None


def request(model, datatype, values):
    message = service_pb2.ModelInferRequest(model_name=model)
    message.inputs.add(name="INPUT0", datatype=datatype, shape=values.shape)
    message.raw_input_contents.append(values.tobytes())
    return message


ECHO = request("identity_int32", "INT32", numpy.ones((1, 1), numpy.int32))
SLOW = request("slow", "INT32", numpy.full(1, SLOW_MS, numpy.int32))


class Asked:
    """A stream with one request at a time."""

    def __init__(self, stub):
        self.requests = SimpleQueue()
        self.call = stub.ModelStreamInfer(iter(self.requests.get, END))

    def answer(self):
        self.requests.put(ECHO)
        answer = next(self.call)
        assert answer.infer_response.raw_output_contents[0] == ECHO.raw_input_contents[0], answer

    def end(self):
        self.requests.put(END)
        assert list(self.call) == [] and self.call.code() == grpc.StatusCode.OK

    def cancel(self):
        self.call.cancel()
        self.requests.put(END)


def expired(stub):
    """Calls until one expires; the number depends on the machine."""
    while True:
        try:
            stub.ModelInfer(SLOW, timeout=DEADLINE_S)
        except grpc.RpcError as failure:
            assert failure.code() == grpc.StatusCode.DEADLINE_EXCEEDED, failure
            return


def cancelled(stub):
    """Waits for a response before cancelling: the stream has then reached the server, so the cancellation must, too."""
    stream = Asked(stub)
    stream.answer()
    stream.cancel()


def main(address, ended):
    with grpc.insecure_channel(address) as channel, ThreadPoolExecutor(AT_ONCE) as threads:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        healthy = Asked(stub)
        healthy.answer()
        for end in (expired, cancelled):
            for done in [threads.submit(end, stub) for _ in range(int(ended))]:
                done.result()
            healthy.answer()
        healthy.end()
    print(ended)


if __name__ == "__main__":
    main(*sys.argv[1:])
