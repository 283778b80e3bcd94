#!/usr/bin/env python3
"""Generate an MLServer model folder for protocol tests.

Usage: mlserver_models.py TARGET_DIR [HTTP_PORT GRPC_PORT METRICS_PORT]

Models:
  iris        scikit-learn KNeighborsClassifier (mlserver-sklearn) over the flowers below: nothing is trained
  identity    custom runtime: returns every input as an output of the same name
  special     custom runtime: NaN/Inf/-0.0 FP32 output, with response parameters
  fail        custom runtime: raises; INPUT0 chooses the kind
  stream      custom runtime: predict_stream, one response per word
  slow        custom runtime: sleeps INPUT0[0] ms
  versioned   identity, served as versions v1 and v2
"""
import json, os, sys

RUNTIME = '''\
import asyncio
from typing import AsyncIterator
import numpy as np
from mlserver import MLModel
from mlserver.errors import InferenceError, MLServerError
from mlserver.types import (InferenceRequest, InferenceResponse, Parameters, ResponseOutput)
from mlserver.codecs import StringCodec, NumpyCodec


def echo(model, request):
    outs = [ResponseOutput(name=i.name, shape=i.shape, datatype=i.datatype, data=i.data, parameters=i.parameters)
            for i in request.inputs]
    # parameters.headers holds the request's HTTP headers; sent back they would become response headers
    params = {k: v for k, v in (request.parameters.model_dump() if request.parameters else {}).items()
              if k != "headers" and v is not None}
    return InferenceResponse(model_name=model.name, model_version=model.version, id=request.id,
                             outputs=outs, parameters=Parameters(**params) if params else None)


class Identity(MLModel):
    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        return echo(self, payload)


class Special(MLModel):
    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        v = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4028235e38, 0.1], dtype=np.float32)
        return InferenceResponse(model_name=self.name, outputs=[NumpyCodec.encode_output("OUTPUT0", v)],
                                 parameters=Parameters(s="text", i=7, b=True, f=1.5))


class Fail(MLModel):
    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        kind = StringCodec.decode_input(payload.inputs[0])[0]
        if kind == "inference":
            raise InferenceError("inference error text")
        if kind == "mlserver":
            raise MLServerError("teapot text", 418)
        raise RuntimeError("raised by the model")


class Stream(MLModel):
    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        return echo(self, payload)

    async def predict_stream(self, payloads: AsyncIterator[InferenceRequest]) -> AsyncIterator[InferenceResponse]:
        async for payload in payloads:
            for word in StringCodec.decode_input(payload.inputs[0])[0].split(" "):
                await asyncio.sleep(0.01)
                yield InferenceResponse(model_name=self.name, id=payload.id,
                                        outputs=[StringCodec.encode_output("output", [word], use_bytes=True)])


class Slow(MLModel):
    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        await asyncio.sleep(int(NumpyCodec.decode_input(payload.inputs[0]).flatten()[0]) / 1000.0)
        return echo(self, payload)
'''

# Five irises of each kind from Fisher's table. The seven nearest neighbours of each test flower are nearest by a margin larger
# than any rounding error, so that responses are the same on every processor.
FLOWERS = (
    ((5.1, 3.5, 1.4, 0.2), (4.9, 3.0, 1.4, 0.2), (5.0, 3.6, 1.4, 0.2), (5.4, 3.9, 1.7, 0.4), (4.6, 3.4, 1.4, 0.3)),
    ((7.0, 3.2, 4.7, 1.4), (6.4, 3.2, 4.5, 1.5), (6.9, 3.1, 4.9, 1.5), (5.5, 2.3, 4.0, 1.3), (5.7, 2.8, 4.5, 1.3)),
    ((6.3, 3.3, 6.0, 2.5), (7.1, 3.0, 5.9, 2.1), (6.3, 2.9, 5.6, 1.8), (6.5, 3.0, 5.8, 2.2), (7.2, 3.6, 6.1, 2.5)),
)


def dump(path, obj):
    with open(path, "w") as f:
        json.dump(obj, f, indent=1)


def model(root, folder, settings):
    d = os.path.join(root, folder)
    os.makedirs(d, exist_ok=True)
    dump(os.path.join(d, "model-settings.json"), settings)
    return d


def main(root, http=8080, grpc=8081, metrics=8082):
    os.makedirs(root, exist_ok=True)
    dump(os.path.join(root, "settings.json"), {
        "host": "127.0.0.1", "http_port": int(http), "grpc_port": int(grpc), "metrics_port": int(metrics),
        "parallel_workers": 0, "gzip_enabled": False, "debug": False})
    with open(os.path.join(root, "oip_models.py"), "w") as f:
        f.write(RUNTIME)
    for folder, cls in (("identity", "Identity"), ("special", "Special"), ("fail", "Fail"),
                        ("stream", "Stream"), ("slow", "Slow")):
        model(root, folder, {"name": folder, "implementation": "oip_models." + cls})
    for v in ("v1", "v2"):
        model(root, "versioned_" + v, {"name": "versioned", "implementation": "oip_models.Identity",
                                       "parameters": {"version": v}})
    from sklearn.neighbors import KNeighborsClassifier
    import joblib
    d = model(root, "iris", {
        "name": "iris", "implementation": "mlserver_sklearn.SKLearnModel", "platform": "sklearn",
        "versions": ["v1"],
        "inputs": [{"name": "predict", "datatype": "FP32", "shape": [-1, 4]}],
        "outputs": [{"name": "predict", "datatype": "INT64", "shape": [-1, 1]}],
        "parameters": {"uri": "./model.joblib", "version": "v1"}})
    # A k-d tree is searched without BLAS, and a probability is a quotient of two counts.
    nearest = KNeighborsClassifier(n_neighbors=7, algorithm="kd_tree")
    nearest.fit([flower for kind in FLOWERS for flower in kind], [kind for kind in range(3) for _ in FLOWERS[kind]])
    joblib.dump(nearest, os.path.join(d, "model.joblib"))


if __name__ == "__main__":
    main(*sys.argv[1:])
