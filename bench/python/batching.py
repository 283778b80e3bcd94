"""Loads servers directly, through the gateway, and through the gateway with batching, by turns; see bench/batching.

Usage: batching.py [--rounds N] [--seconds N] [--clients N] [--servers NAME...] --gateway PID=PORT NAME=PID=PORT...
"""
import argparse
import os
import re
import statistics
import struct
import subprocess
import tempfile
import time

TICK = os.sysconf("SC_CLK_TCK")
REST_BODY = b'{"inputs":[{"name":"predict","shape":[1,4],"datatype":"FP32","data":[5.1,3.5,1.4,0.2]}]}'


def varint(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def grpc_body(model, inputs):
    """A ModelInferRequest with its length prefix; inputs are (name, datatype, shape, raw)."""
    message = field(1, model.encode())
    for name, datatype, shape, _ in inputs:
        message += field(5, field(1, name.encode()) + field(2, datatype.encode()) + field(3, b"".join(map(varint, shape))))
    for each in inputs:
        message += field(7, each[3])
    return struct.pack(">BI", 0, len(message)) + message


def body(server, model):
    if server == "mlserver":
        return REST_BODY
    if server == "mlserver-grpc":
        return grpc_body(model, [("predict", "FP32", [1, 4], struct.pack("<4f", 5.1, 3.5, 1.4, 0.2))])
    ints = struct.pack("<16i", *range(16))
    return grpc_body(model, [("INPUT0", "INT32", [1, 16], ints), ("INPUT1", "INT32", [1, 16], ints)])


def model_of(server, path):
    name = {"triton": "simple", "mlserver": "iris", "mlserver-grpc": "iris-grpc"}[server]
    if path == "directly":
        return name.removesuffix("-grpc")
    return name + "-joined" if path == "batching" else name


def cpu_seconds(pid):
    """Of a process and of its children that are alive."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    total = (int(fields[11]) + int(fields[12])) / TICK
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        return total + sum(cpu_seconds(int(child)) for child in children.read().split())


def seconds(text):
    amount, unit = re.fullmatch(r"([0-9.]+)(us|ms|s)", text).groups()
    return float(amount) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def load(server, path, port, arguments, folder):
    """Requests per second and the mean latency in seconds."""
    model = model_of(server, path)
    file = os.path.join(folder, model)
    with open(file, "wb") as out:
        out.write(body(server, model))
    clients = str(arguments.clients)
    command = ["h2load", "-c", clients, "-D", str(arguments.seconds), "--warm-up-time", "1", "-d", file]
    if server == "mlserver":
        command += ["--h1", "-H", "content-type: application/json", f"http://127.0.0.1:{port}/v2/models/{model}/infer"]
    else:
        command += ["-m", "1", "-H", "content-type: application/grpc", "-H", "te: trailers"]
        command += [f"http://127.0.0.1:{port}/inference.GRPCInferenceService/ModelInfer"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    counts = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored", printed)
    if int(counts.group(1)) == 0 or int(counts.group(2)) or int(counts.group(3)):
        raise SystemExit(f"batching: {server} {path}: {counts.group(0)}\n{printed}")
    rate = float(re.search(r"finished in [^,]+, ([0-9.]+) req/s", printed).group(1))
    latency = re.search(r"time for request:\s+(\S+)\s+(\S+)\s+(\S+)", printed)
    return rate, seconds(latency.group(3))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--servers", nargs="+")
    parser.add_argument("--gateway", required=True)
    parser.add_argument("targets", nargs="*")
    arguments = parser.parse_args()
    gateway_pid, gateway_port = map(int, arguments.gateway.split("="))
    print(f"{arguments.clients} clients, {arguments.rounds} rounds of {arguments.seconds} s; medians")
    print("| server | path | requests/s | of the gateway's without | mean latency, ms | CPU of the server, us | of the gateway, us |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for target in arguments.targets:
            server, pid, port = target.split("=")
            if arguments.servers and server not in arguments.servers:
                continue
            rows = {path: [] for path in ("directly", "gateway", "batching")}
            for _ in range(arguments.rounds):
                for path, results in rows.items():
                    before = cpu_seconds(int(pid)), cpu_seconds(gateway_pid)
                    start = time.monotonic()
                    rate, latency = load(server, path, int(port) if path == "directly" else gateway_port, arguments, folder)
                    count = rate * (time.monotonic() - start)
                    after = cpu_seconds(int(pid)), cpu_seconds(gateway_pid)
                    results.append((rate, latency, *((b - a) / count * 1e6 for a, b in zip(before, after))))
            for path, results in rows.items():
                ratio = statistics.median(r[0] / g[0] for r, g in zip(results, rows["gateway"]))
                rate, latency, own, gateway = (statistics.median(each[i] for each in results) for i in range(4))
                of_gateway = "" if path == "directly" else f"{gateway:.0f}"
                print(f"| {server} | {path} | {rate:.0f} | {ratio:.2f} | {latency * 1000:.1f} | {own:.0f} | {of_gateway} |", flush=True)


if __name__ == "__main__":
    main()
