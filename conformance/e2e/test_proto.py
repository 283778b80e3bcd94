"""Compares our .proto with tritonclient's: every message, field number, type and method."""
import os

from google.protobuf import descriptor_pb2
from tritonclient.grpc import service_pb2


def fields(messages, prefix=""):
    for message in messages:
        yield prefix + message.name, {f.name: (f.number, f.type, f.label, f.type_name) for f in message.field}
        yield from fields(message.nested_type, prefix + message.name + ".")


def methods(file):
    return {m.name: (m.input_type, m.output_type, m.client_streaming, m.server_streaming) for m in file.service[0].method}


def test_wire_compatible_with_triton():
    ours, theirs = descriptor_pb2.FileDescriptorProto(), descriptor_pb2.FileDescriptorProto()
    with open(os.environ["ISTHMUS_DESCRIPTOR"], "rb") as file:
        ours.ParseFromString(file.read())
    service_pb2.DESCRIPTOR.CopyToProto(theirs)
    mine = dict(fields(ours.message_type))
    # Forwarded without parsing: a message field has the same wire format as bytes.
    assert mine["ModelConfigResponse"]["config"][0] == 1
    for name, members in fields(theirs.message_type):
        if name != "ModelConfigResponse":
            assert members.items() <= mine[name].items(), name
    assert methods(theirs).items() <= methods(ours).items()
