#!/usr/bin/env python3
"""Dynamo's frontend, which serves the protocol over gRPC, and a worker with one identity model for each datatype.

dynamo_models.py PORT FOLDER: the port of gRPC, and a folder in which frontend and worker find each other. METRICS_PORT is the port of
metrics. start.sh dynamo runs it.
"""
import asyncio
import os
import subprocess
import sys

from dynamo.llm import ModelInput, ModelType, WorkerType, register_model
from dynamo.runtime import DistributedRuntime

DATATYPES = {"BOOL": "Bool", "INT8": "Int8", "INT16": "Int16", "INT32": "Int32", "INT64": "Int64", "UINT8": "Uint8", "UINT16": "Uint16",
             "UINT32": "Uint32", "UINT64": "Uint64", "FP32": "Float32", "FP64": "Float64", "BYTES": "Bytes"}


async def echo(request):
    tensors = [{**tensor, "metadata": {**tensor["metadata"], "name": "OUTPUT0"}} for tensor in request["tensors"]]
    yield {"model": request["model"], "tensors": tensors, "parameters": request.get("parameters") or {}}


async def serve(runtime, name, datatype):
    endpoint = runtime.endpoint(f"conformance.{name.replace('_', '-')}.generate")
    tensor = {"data_type": datatype, "shape": [-1, -1]}
    await register_model(ModelInput.Tensor, ModelType.TensorBased, endpoint, name, name, worker_type=WorkerType.Aggregated,
                         tensor_model_config={"name": name, "inputs": [{**tensor, "name": "INPUT0"}],
                                              "outputs": [{**tensor, "name": "OUTPUT0"}]})
    await endpoint.serve_endpoint(echo)


async def work():
    runtime = DistributedRuntime(asyncio.get_running_loop(), "file", "tcp")
    await asyncio.gather(*(serve(runtime, f"identity_{key.lower()}", datatype) for key, datatype in DATATYPES.items()))


def main():
    port, folder = sys.argv[1:]
    os.environ["DYN_FILE_KV"] = folder
    frontend = subprocess.Popen([sys.executable, "-m", "dynamo.frontend", "--kserve-grpc-server", "--http-host", "127.0.0.1", "--http-port",
                                 port, "--grpc-metrics-port", os.environ.get("METRICS_PORT", "8788"), "--discovery-backend", "file", "--request-plane", "tcp"])
    try:
        asyncio.run(work())
    finally:
        frontend.terminate()
        frontend.wait()


if __name__ == "__main__":
    main()
