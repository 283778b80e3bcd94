"""An MLServer runtime for ONNX models, for bench/local --http. One thread, as in the gateway."""
import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # read by the library when it is loaded
import onnxruntime  # noqa: E402
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse
from mlserver.utils import get_model_uri


class OnnxModel(MLModel):
    async def load(self) -> bool:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(
            await get_model_uri(self.settings), options, providers=["CPUExecutionProvider"])
        self.names = [output.name for output in self.session.get_outputs()]
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        feed = {each.name: NumpyCodec.decode_input(each) for each in payload.inputs}
        outputs = zip(self.names, self.session.run(None, feed))
        return InferenceResponse(
            id=payload.id,
            model_name=self.name,
            model_version=self.version,
            outputs=[NumpyCodec.encode_output(name, array) for name, array in outputs],
        )
