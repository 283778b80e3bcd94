"""Models as a load for the local backend on a GPU. Needs onnx, numpy and grpcio.

  device_load.py models FOLDER          writes resnet32 and resnet16, ResNet-50 with random weights in FP32 and FP16, and mlp32, products
                                        of matrices in FP32; each also with batching (resnet32_batch), with batching but without a delay
                                        (_joined), with that and one run at a time (_single), and for the CPU (_cpu)
  device_load.py compare PORT MODEL REFERENCE FP32|FP16 ROWS
                                        compares the results of two models for requests of 1, 8 and 32 rows
  device_load.py load PORT MODEL FP32|FP16 grpc|rest BATCH CONNECTIONS SECONDS
                                        sends requests over so many connections, one at a time over each, and prints a line
"""
import http.client
import json
import multiprocessing
import pathlib
import sys
import threading
import time

import numpy as np

IMAGE = (3, 224, 224)
TYPES = {"FP32": np.float32, "FP16": np.float16}
WIDTHS = (1024, 4096, 4096, 4096, 1024)
ROWS = "max_batch_size: 32\n"
JOINED = ROWS + "dynamic_batching { }\n"
CONFIGURATIONS = {
    "": "", "_batch": ROWS + "dynamic_batching { max_queue_delay_microseconds: 1000 }\n", "_joined": JOINED,
    "_single": JOINED + "instance_group { count: 1 }\n", "_cpu": "instance_group { kind: KIND_CPU }\n"}
PROCESSES = 8


def resnet50(dtype):
    """The graph, with weights that keep the activations' variance."""
    from onnx import helper, numpy_helper
    random, nodes, weights = np.random.default_rng(7), [], []

    def constant(name, values):
        weights.append(numpy_helper.from_array(values.astype(dtype), name))
        return name

    def conv(x, channels, out_channels, size, stride, name, gain=1.0, relu=True):
        deviation = gain * np.sqrt(2 / (channels * size * size))
        w = constant(name + "_w", random.standard_normal((out_channels, channels, size, size)) * deviation)
        b = constant(name + "_b", random.standard_normal(out_channels) * 0.05)
        nodes.append(helper.make_node("Conv", [x, w, b], [name], kernel_shape=[size] * 2, strides=[stride] * 2, pads=[size // 2] * 4))
        if relu:
            nodes.append(helper.make_node("Relu", [name], [name + "_relu"]))
        return name + "_relu" if relu else name

    x, channels = conv("x", 3, 64, 7, 2, "stem"), 64
    nodes.append(helper.make_node("MaxPool", [x], ["pool"], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4))
    x = "pool"
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner, outer = 64 << stage, 256 << stage
        for block in range(blocks):
            name, stride = f"s{stage}b{block}", 2 if stage and not block else 1
            y = conv(conv(x, channels, inner, 1, 1, name + "a"), inner, inner, 3, stride, name + "b")
            y = conv(y, inner, outer, 1, 1, name + "c", 0.3, False)
            shortcut = x if block else conv(x, channels, outer, 1, stride, name + "d", 0.7, False)
            nodes.extend([helper.make_node("Add", [y, shortcut], [name]), helper.make_node("Relu", [name], [name + "_out"])])
            x, channels = name + "_out", outer
    dense = constant("dense", random.standard_normal((channels, 1000)) / np.sqrt(channels))
    nodes.extend([helper.make_node("GlobalAveragePool", [x], ["mean"]), helper.make_node("Flatten", ["mean"], ["flat"]),
                  helper.make_node("MatMul", ["flat", dense], ["y"])])
    return graph(nodes, weights, dtype, IMAGE, 1000)


def perceptron(dtype):
    """Products of matrices with a ReLU after each but the last."""
    from onnx import helper, numpy_helper
    random, nodes, weights, x = np.random.default_rng(9), [], [], "x"
    for i, (rows, columns) in enumerate(zip(WIDTHS, WIDTHS[1:])):
        w = random.standard_normal((rows, columns), np.float32) * np.float32(np.sqrt(2 / rows))
        weights.append(numpy_helper.from_array(w.astype(dtype), f"w{i}"))
        last = i == len(WIDTHS) - 2
        nodes.append(helper.make_node("MatMul", [x, f"w{i}"], ["y" if last else f"product{i}"]))
        if not last:
            nodes.append(helper.make_node("Relu", [f"product{i}"], [x := f"layer{i}"]))
    return graph(nodes, weights, dtype, WIDTHS[:1], WIDTHS[-1])


def graph(nodes, weights, dtype, shape, outputs):
    from onnx import helper
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_graph(nodes, "load", [helper.make_tensor_value_info("x", kind, ["n", *shape])],
                             [helper.make_tensor_value_info("y", kind, ["n", outputs])], weights)


def row(model):
    return WIDTHS[:1] if model.startswith("mlp") else IMAGE


def models(folder):
    from onnx import helper, save
    for name, make, dtype in (("resnet32", resnet50, np.float32), ("resnet16", resnet50, np.float16), ("mlp32", perceptron, np.float32)):
        model = helper.make_model(make(dtype), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        for suffix, config in CONFIGURATIONS.items():
            version = pathlib.Path(folder, name + suffix, "1")
            version.mkdir(parents=True, exist_ok=True)
            save(model, version / "model.onnx")
            if config:
                (version.parent / "config.pbtxt").write_text(config)


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def grpc_call(port, model, datatype, shape, raw):
    """A ModelInferRequest in protobuf's wire format, so that no code needs to be generated."""
    import grpc
    tensor = field(1, b"x") + field(2, datatype.encode()) + field(3, b"".join(map(varint, shape)))
    request = field(1, model.encode()) + field(5, tensor) + field(7, raw)
    channel = grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.use_local_subchannel_pool", 1)])
    call = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
    return lambda: call(request, timeout=60)


def rest_call(port, model, datatype, shape, raw):
    tensor = {"name": "x", "datatype": datatype, "shape": shape, "parameters": {"binary_data_size": len(raw)}}
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    headers = {"Inference-Header-Content-Length": str(len(head)), "Content-Type": "application/octet-stream"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def call():
        connection.request("POST", f"/v2/models/{model}/infer", head + raw, headers)
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise OSError(f"status {response.status}: {body[:200]!r}")
        return body[int(response.headers["Inference-Header-Content-Length"]):]
    return call


def compare(port, model, reference, datatype, rows):
    data = np.random.default_rng().standard_normal([rows, *row(model)]).astype(TYPES[datatype])

    def results(name, batch):
        parts = [data[i:i + batch] for i in range(0, rows, batch)]
        raw = b"".join(rest_call(port, name, datatype, [*part.shape], part.tobytes())() for part in parts)
        return np.frombuffer(raw, TYPES[datatype]).reshape(rows, -1)

    def error(values, expected):
        return np.linalg.norm(values.astype(np.float64) - expected) / np.linalg.norm(expected.astype(np.float64))
    expected, first = results(reference, 1), {}
    for batch in (1, 8, 32, 1, 8, 32):
        runs = [results(model, batch) for _ in range(5)]
        got, alone = first.setdefault(batch, runs[0]), first[1]
        print(f"{model} batch {batch}: error {error(got, expected):.1e}, of the worst row {max(map(error, got, expected)):.1e},"
              f" highest output equal in {sum(got.argmax(1) == expected.argmax(1))} of {rows} rows,"
              f" same bits in {sum(run.tobytes() == got.tobytes() for run in runs)} of {len(runs)} runs;"
              f" against rows alone {error(got, alone):.1e}, same bits in {sum(map(np.array_equal, got, alone))} of {rows} rows")


def clients(count, results, start, seconds, make, arguments):
    """Runs some connections in this process; each puts its latencies, in seconds."""
    def client():
        call, latencies = make(*arguments), []
        call()
        start.wait()
        end = time.perf_counter() + seconds
        while (begin := time.perf_counter()) < end:
            call()
            latencies.append(time.perf_counter() - begin)
        results.put(latencies)
    threads = [threading.Thread(target=client) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def load(port, model, datatype, protocol, batch, connections, seconds):
    shape = [batch, *row(model)]
    raw = np.random.default_rng(5).standard_normal(shape).astype(TYPES[datatype]).tobytes()
    results, start, processes = multiprocessing.Queue(), multiprocessing.Barrier(connections), min(connections, PROCESSES)
    make = {"grpc": grpc_call, "rest": rest_call}[protocol]
    running = [multiprocessing.Process(target=clients, args=(
        connections // processes + (i < connections % processes), results, start, seconds, make,
        (port, model, datatype, shape, raw))) for i in range(processes)]
    for process in running:
        process.start()
    latencies = np.concatenate([results.get(timeout=seconds + 120) for _ in range(connections)])
    for process in running:
        process.join()
    rate = connections / latencies.mean()
    print(f"{model} {protocol} batch {batch} connections {connections}: {rate:.1f} requests/s, {rate * batch:.0f} rows/s,"
          f" p50 {np.percentile(latencies, 50) * 1e3:.2f} ms, p99 {np.percentile(latencies, 99) * 1e3:.2f} ms")


if __name__ == "__main__":
    if sys.argv[1] == "models":
        models(sys.argv[2])
    elif sys.argv[1] == "compare":
        port, model, reference, datatype, rows = sys.argv[2:]
        compare(int(port), model, reference, datatype, int(rows))
    else:
        port, model, datatype, protocol, batch, connections, seconds = sys.argv[2:]
        load(int(port), model, datatype, protocol, int(batch), int(connections), float(seconds))
