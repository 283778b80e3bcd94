#!/usr/bin/env python3
"""aiSSEMBLE's FastAPI and gRPC servers with the model identity, whose outputs are its inputs.

The ports are in FASTAPI_PORT and GRPC_PORT. Start it with start.sh aissemble, which sets them and turns authorization off.
"""
import asyncio

from aissemble_open_inference_protocol_fastapi.aissemble_oip_fastapi import AissembleOIPFastAPI
from aissemble_open_inference_protocol_grpc.aissemble_oip_grpc import AissembleOIPgRPC
from aissemble_open_inference_protocol_shared.handlers.model_handler import ModelHandler
from aissemble_open_inference_protocol_shared.types.dataplane import InferenceResponse, ModelMetadataResponse, ResponseOutput


class Identity(ModelHandler):
    def infer(self, payload, model_name, model_version=None):
        outputs = [ResponseOutput(name=one.name, shape=one.shape, datatype=one.datatype, data=one.data) for one in payload.inputs]
        return InferenceResponse(model_name=model_name, id=payload.id, parameters=payload.parameters, outputs=outputs)

    def model_metadata(self, model_name, model_version=None):
        return ModelMetadataResponse(name=model_name, platform="python", inputs=[], outputs=[])

    def model_load(self, model_name):
        return True


async def serve():
    await asyncio.gather(AissembleOIPFastAPI(Identity()).start_server(), AissembleOIPgRPC(Identity()).start_server())


if __name__ == "__main__":
    asyncio.run(serve())
