"""One ModelStreamInfer call: sends one message and counts the responses. Uses only the standard library and grpcio.

Usage: stream.py ADDRESS REQUEST_FILE      prints the number of responses; fails if the call fails or a response is an error
"""
import sys

import grpc

METHOD = "/inference.GRPCInferenceService/ModelStreamInfer"
INFER_RESPONSE = 2 << 3 | 2  # the tag of ModelStreamInferResponse.infer_response; error_message has another


def main(address, request):
    answers = 0
    with open(request, "rb") as file, grpc.insecure_channel(address) as channel:
        # Without serializers, messages are bytes.
        for answer in channel.stream_stream(METHOD)(iter([file.read()])):
            assert answer[0] == INFER_RESPONSE, answer
            answers += 1
    print(answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
