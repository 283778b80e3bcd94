"""Tensors for the official clients, with the expected outputs."""
import numpy as np
import tritonclient.grpc as tg
import tritonclient.http as th

TYPES = {
    "BOOL": np.array([[True, False, True]]),
    "UINT8": np.array([[0, 1, 255]], np.uint8), "INT8": np.array([[-128, 0, 127]], np.int8),
    "UINT16": np.array([[0, 1, 65535]], np.uint16), "INT16": np.array([[-32768, 0, 32767]], np.int16),
    "UINT32": np.array([[0, 1, 2**32 - 1]], np.uint32), "INT32": np.array([[-2**31, 0, 2**31 - 1]], np.int32),
    "UINT64": np.array([[0, 2**53 + 1, 2**64 - 1]], np.uint64),
    "INT64": np.array([[-2**63, 2**53 + 1, 2**63 - 1]], np.int64),
    "FP16": np.array([[0.1, -0.0, 65504]], np.float16),
    "FP32": np.array([[0.1, -0.0, 3.4028235e38]], np.float32),
    "FP64": np.array([[0.1, -0.0, 1.7976931348623157e308]], np.float64),
    "BYTES": np.array([[b"", "caf\u00e9 \U0001f600".encode(), b'"\\\n']], np.object_),
}


def vectors():
    a = np.arange(16, dtype=np.int32).reshape(1, 16)
    return a, np.ones((1, 16), np.int32)


def http_inputs(pairs, binary):
    inputs = []
    for name, datatype, array in pairs:
        tensor = th.InferInput(name, list(array.shape), datatype)
        tensor.set_data_from_numpy(array, binary_data=binary)
        inputs.append(tensor)
    return inputs


def grpc_inputs(pairs):
    inputs = []
    for name, datatype, array in pairs:
        tensor = tg.InferInput(name, list(array.shape), datatype)
        tensor.set_data_from_numpy(array)
        inputs.append(tensor)
    return inputs


def check_simple(result):
    a, b = vectors()
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), a + b)
    np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), a - b)


def simple_pairs():
    a, b = vectors()
    return [("INPUT0", "INT32", a), ("INPUT1", "INT32", b)]


def same(got, want):
    assert got.dtype == want.dtype or want.dtype == np.object_
    if want.dtype == np.object_:
        assert [x if isinstance(x, bytes) else x.encode() for x in got.flatten()] == list(want.flatten())
    else:
        assert got.tobytes() == want.tobytes()
