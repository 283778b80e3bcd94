"""A grpcio server for GrpcioTest: echoes bytes, or acts on the header x-do. Prints its port; exits at the end of its input."""

import sys
import threading
from concurrent import futures

import grpc

SERVICE = "inference.GRPCInferenceService"
FLOOD, PIECE = 400, 64 * 1024
held, cancelled = threading.Semaphore(0), threading.Semaphore(0)


def asked(context):
    return dict(context.invocation_metadata()).get("x-do", "echo")


def fail(context):
    context.abort(grpc.StatusCode.FAILED_PRECONDITION, '50% of "é"\n')


def infer(message, context):
    what = asked(context)
    if what == "fail":
        fail(context)
    elif what == "gzip":
        context.set_compression(grpc.Compression.Gzip)
    elif what == "held":
        held.acquire()
    elif what == "cancelled":
        cancelled.acquire()
    elif what in ("wait", "hold"):
        over = threading.Event()
        if not context.add_callback(over.set):
            return message  # The call was over before this thread got it.
        if what == "hold":
            held.release()
        over.wait()
        if what == "hold":
            cancelled.release()
    return message


def stream(messages, context):
    what = asked(context)
    for message in messages:
        if what == "flood":
            for _ in range(FLOOD):
                yield bytes(PIECE)
            return
        yield message
        if what == "fail":
            fail(context)


def main():
    server = grpc.server(
        futures.ThreadPoolExecutor(16),
        options=[("grpc.max_concurrent_streams", 10), ("grpc.max_receive_message_length", 64 << 20)],
    )
    handlers = {
        "ModelInfer": grpc.unary_unary_rpc_method_handler(infer),
        "ModelStreamInfer": grpc.stream_stream_rpc_method_handler(stream),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(0).wait()


if __name__ == "__main__":
    main()
