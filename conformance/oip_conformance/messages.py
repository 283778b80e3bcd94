"""The messages and the service of inference.proto, from inference.binpb, which conformance/wheel compiles.

They live in a descriptor pool of their own: another definition of the same service, such as that of tritonclient, may be loaded
beside them.
"""
from importlib.resources import files

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_set = descriptor_pb2.FileDescriptorSet.FromString(files(__package__).joinpath("inference.binpb").read_bytes())
_pool = descriptor_pool.DescriptorPool()
for _file in _set.file:
    _pool.Add(_file)
for _name in _set.file[0].message_type:
    globals()[_name.name] = message_factory.GetMessageClass(_pool.FindMessageTypeByName("inference." + _name.name))

SERVICE = "inference.GRPCInferenceService"
METHODS = {method.name: method for method in _pool.FindServiceByName(SERVICE).methods}


def path(method):
    return f"/{SERVICE}/{method}"


def request_type(method):
    return message_factory.GetMessageClass(METHODS[method].input_type)


def response_type(method):
    return message_factory.GetMessageClass(METHODS[method].output_type)


class Stub:
    """Each method of the service as a callable attribute."""

    def __init__(self, channel):
        for name in METHODS:
            make = channel.stream_stream if _streams(name) else channel.unary_unary
            setattr(self, name, make(path(name), request_serializer=request_type(name).SerializeToString,
                                     response_deserializer=response_type(name).FromString))


def _streams(name):
    return name == "ModelStreamInfer"


def _encoded(response):
    return response if isinstance(response, bytes) else response.SerializeToString()


def handler(servicer):
    """The methods that the servicer has, for grpc.Server.add_generic_rpc_handlers. Responses are messages, or bytes as they are."""
    found = {}
    for name in METHODS:
        function = getattr(servicer, name, None)
        if function is not None:
            make = grpc.stream_stream_rpc_method_handler if _streams(name) else grpc.unary_unary_rpc_method_handler
            found[name] = make(function, request_deserializer=request_type(name).FromString, response_serializer=_encoded)
    return grpc.method_handlers_generic_handler(SERVICE, found)
