"""A double of a V2 server, from the metadata of its models: for tests of clients.

models    the models: metadata, and the values of their responses     faults   latency, failures and drift on demand
inference requests and responses, as tensors                          rest     the HTTP server
rpc       the gRPC server                                             server   both, and the commands that change faults
cli       the command oip-double
"""
from .faults import Fault
from .models import ModelError
from .server import Double

__all__ = ["Double", "Fault", "ModelError"]
