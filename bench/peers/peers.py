#!/usr/bin/env python3
"""Side-by-side benchmark of OIP proxies, routers and transcoders on two cores. bench/compare runs it.

The proxy under test runs on one core, the stub upstream and the load generator on another, all at
loopback. One target runs at a time. For every (target, role, workload) cell and every repeat:
  1. check: one request, whose response is compared with the stub's;
  2. saturation: h2load, closed loop, for --sat seconds -> requests/s, CPU ms per 1,000 requests of the
     proxy's processes (from /proc), peak RSS;
  3. latency: oip-pace, fixed rate for --lat seconds -> percentiles over all repeats together.
Repeats are the outermost loop, so that drift of the machine spreads over all targets.

Programs are found through the file --tools (JSON: {"ENVOY": path, "NGINX": path, "HAPROXY": path,
"ISTHMUS": its start script, "DESCRIPTOR": path, "STUBS": folder of oip-stub and oip-pace}) and PATH; a target whose program
is missing is skipped.

Add another gateway as one more row, either already running:
  peers.py --attach mine,pid=1234,grpc=9000,rest=9000,rest-bin=9000,transcode=9000,transcode-bin=9000
(roles transcode and transcode-bin: it must route to the stub's gRPC face; rest, rest-bin: to its REST face; the same port
number may not serve two roles that need different upstreams), or as an entry in targets.json.

Roles:  grpc           gRPC in, gRPC upstream (raw_input_contents)
        grpc-typed     the same with typed contents
        rest           HTTP/1.1 V2 JSON in, HTTP/1.1 upstream
        rest-bin       HTTP/1.1 binary tensor data extension in, HTTP/1.1 upstream
        transcode      HTTP/1.1 JSON in, gRPC upstream
        transcode-bin  HTTP/1.1 binary tensor data extension in, gRPC upstream
        grpc-tls       grpc with TLS 1.3 between client and proxy (AES-128-GCM, X25519, one EC certificate for all)
        rest-tls       rest with TLS 1.3 (l as rest-bin)
        handshake      one request per TLS 1.3 connection; full handshakes, and resumed ones
Latency is not measured over TLS.

With --paired N all targets are alive at once and each cell is measured in rounds, in each of which every target has its turn, in
random order. --connections measures s with so many open connections (at most LOADED of them send, the others are idle), --half
the latency of all targets at half of what the slowest of them serves, --threads gives each target so many threads and cores.

With --after S each cell has --repeats processes of its own, all alive at once. Each is loaded for S seconds, and then its cost is measured
by turns (--paired rounds, or 5): how much one start differs from another, whatever else the machine does. --code keeps what the JVM has
compiled then.
"""
import argparse
import contextlib
import http.client
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent

# workload -> (model, connections, streams per h2 connection, rate per second for the latency run)
WORKLOADS = {
    "s": ("echo", 16, 4, 1000),
    "e": ("emb", 16, 4, 500),
    "m9": ("cls", 4, 1, 20),
    "m17": ("cls", 4, 1, 10),
    "mu8": ("cls", 4, 1, 20),
    "me": ("echo", 4, 1, 8),
    "l": ("echo", 2, 1, 5),
}
# For so many seconds a target that compiles while it runs is loaded before it is measured.
PRIMED = 60
FLAT_RATE = {"m9": 100}   # passthrough roles carry the image much faster
ROLE_WORKLOADS = {
    "grpc": ["s", "m9", "l", "e"],
    "grpc-typed": ["s", "m9", "e"],
    "rest": ["s", "m9", "e"],
    "rest-bin": ["m9", "l"],
    "transcode": ["s", "m9", "m17", "mu8", "me", "e"],
    "transcode-bin": ["s", "m9", "l", "e"],
    "grpc-tls": ["s", "m9", "l"],
    "rest-tls": ["s", "m9", "l"],
    "handshake": ["full", "resumed"],
}
HANDSHAKES = {"full": "-new", "resumed": "-reuse"}   # workload -> option of openssl s_time
HANDSHAKE_CLIENTS = 4
LOADED = 100   # connections that send requests, of more
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\4" + bytes(5)   # of HTTP/2, with an empty SETTINGS
TLS_ROLES = ("grpc-tls", "rest-tls", "handshake")
CIPHER = "TLS_AES_128_GCM_SHA256"
SLOW = {"transcode"}


def fill(text, values):
    """Fills in the values; what stands between @EACH N: and @END@ is repeated for each @I@ from 1 to N."""
    text = re.sub(r"@EACH (\d+):(.*?)@END@", lambda m: "".join(m[2].replace("@I@", str(i + 1)) for i in range(int(m[1]))), text, flags=re.DOTALL)
    for key, value in values.items():
        text = text.replace(key, str(value))
    return text


def cpu_seconds(pids):
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def compiling_seconds(pids):
    """CPU time of the compilers of a JVM until now."""
    ticks = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*"):
            with contextlib.suppress(OSError):
                if re.match(r"C[12] Compiler", (task / "comm").read_text()):
                    fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
                    ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_mb(pids, key):
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            found = re.search(rf"{key}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
            total += int(found.group(1)) if found else 0
    return total / 1024


def reset_peak(pids):
    for pid in pids:
        with contextlib.suppress(OSError):
            Path(f"/proc/{pid}/clear_refs").write_text("5")


def tree(pid):
    """The process and all its descendants."""
    pids, todo = [], [pid]
    while todo:
        p = todo.pop()
        pids.append(p)
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{p}/task").iterdir():
                todo += [int(c) for c in (task / "children").read_text().split()]
    return pids


def wait_port(port, seconds=30):
    end = time.time() + seconds
    while time.time() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        time.sleep(0.1)
    return False


def wait_ready(port, path, seconds=90):
    """Waits for a 200 of the target's readiness path."""
    end = time.time() + seconds
    while time.time() < end:
        with contextlib.suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        time.sleep(0.2)
    raise RuntimeError(f"not ready within {seconds} s")


def ports_of(target):
    return list(dict.fromkeys(target["ports"].values()))


def make_certificate(folder):
    """A self-signed certificate for 127.0.0.1 (EC, P-256): tls.crt and tls.key, and both in tls.pem for HAProxy."""
    certificate, key, both = (folder / f"tls.{end}" for end in ("crt", "key", "pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "30", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                    "-out", certificate], check=True, capture_output=True)
    both.touch(0o600)
    both.write_text(certificate.read_text() + key.read_text())
    for file in (key, both):
        file.chmod(0o600)


@contextlib.contextmanager
def idle_connections(port, count, head):
    """So many connections, each of which has sent this much. They are reset in the end, which leaves no state in the kernel."""
    opened = []
    try:
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port), 20)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(head)
            opened.append(connection)
        yield
    finally:
        for connection in opened:
            connection.close()


class Bench:
    def __init__(self, args):
        self.args = args
        self.payloads = Path(args.payloads).resolve()
        self.run_dir = Path(args.run_dir).resolve()
        self.run_dir.mkdir(parents=True, exist_ok=True)
        self.tools = json.loads(Path(args.tools).read_text()) if args.tools else {}
        make_certificate(self.run_dir)
        self.values = {"@STUB@": args.stub_port, "@RUN@": self.run_dir, "@THREADS@": args.threads}
        self.proxy_cores = f"0-{args.threads - 1}" if args.threads > 1 else str(args.proxy_core)
        self.load_cores = self.proxy_cores if args.threads > 1 else str(args.load_core)
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        for name, default in (("ENVOY", "envoy"), ("NGINX", "nginx"), ("HAPROXY", "haproxy"),
                              ("ISTHMUS", None), ("DESCRIPTOR", None), ("STUBS", None), ("LAYERS", None), ("GHZ", "ghz"), ("FORTIO", "fortio")):
            self.values[f"@{name}@"] = self.tools.get(name) or (shutil.which(default) if default else "") or ""
        self.targets = {}
        for path in [HERE / "targets.json", *args.more_targets]:
            self.targets.update({k: v for k, v in json.loads(Path(path).read_text()).items() if k != "_"})
        if args.before:
            self.add_before(Path(args.before).resolve())
        for spec in args.attach:
            name, *rest = spec.split(",")
            pairs = dict(p.split("=") for p in rest)
            pid = pairs.pop("pid", None)
            dialect = pairs.pop("dialect", "v2")
            self.targets[name] = {"ports": {k: int(v) for k, v in pairs.items()}, "dialect": dialect,
                                  "pid": int(pid) if pid else None}
        for option, given, known in (("--targets", args.targets, self.targets), ("--roles", args.roles, ROLE_WORKLOADS),
                                     ("--workloads", args.workloads, [*WORKLOADS, *HANDSHAKES])):
            for name in set(given or ()) - set(known):
                sys.exit(f"peers: {option}: one of {', '.join(known)} is expected, got '{name}'")
        self.results = {}
        self.idle = {}

    def add_before(self, dist):
        """Another build of Isthmus, with the same configurations, ports and load before it is measured."""
        program = str(dist / "bin/isthmus")
        if not (dist / "isthmus.aot").exists():
            subprocess.run([program, "--make-cache"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name in ("isthmus", "isthmus-rest"):
            target = self.targets[name]
            ports = {role: port + 100 for role, port in target["ports"].items()}
            self.targets[name.replace("isthmus", "before")] = dict(target, command=[program, *target["command"][1:]], ports=ports)

    def pinned(self, core, command):
        nice = ["nice", "-n", str(self.args.nice)] if self.args.nice else []
        return nice + ["taskset", "-c", str(core)] + command

    def start_stub(self):
        stub = Path(self.values["@STUBS@"]) / "oip-stub"
        # 100 more addresses for the targets with 100 servers.
        addresses = [f"{host}:{self.args.stub_port}" for host in ["127.0.0.1", *(f"127.0.1.{i}" for i in range(1, 101))]]
        process = subprocess.Popen(self.pinned(self.load_cores, [str(stub), *addresses]))
        if not wait_port(self.args.stub_port):
            sys.exit("the stub does not listen")
        return process

    @contextlib.contextmanager
    def started(self, name):
        """Yields the process ids of the target (an empty list for a direct target)."""
        target = self.targets[name]
        if target.get("pid"):
            yield tree(target["pid"])
            return
        if "command" not in target:
            yield []
            return
        ports = ports_of(target)
        # Each has files of its own, because several may run at once.
        folder = self.run_dir / name
        folder.mkdir(exist_ok=True)
        for file in self.run_dir.glob("tls.*"):
            shutil.copy(file, folder / file.name)
        values = dict(self.values, **{"@RUN@": folder})
        values.update(target.get("extra_ports", {}))
        for i, port in enumerate(ports):
            values["@PORT@" if i == 0 else f"@PORT{i + 1}@"] = port
        for file in target.get("render", []):
            (folder / file).write_text(fill((HERE / "conf" / file).read_text(), values))
        command = [fill(c, values) for c in target["command"]]
        env = dict(os.environ, **{k: fill(v, values) for k, v in target.get("env", {}).items()})
        log = open(self.run_dir / f"{name}.log", "ab")
        process = subprocess.Popen(self.pinned(self.proxy_cores, command), env=env, stdout=log, stderr=log,
                                   start_new_session=True)
        try:
            if not all(wait_port(p) for p in ports):
                raise RuntimeError(f"{name} does not listen, see {log.name}")
            yield tree(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def request(self, target, role, workload):
        """(protocol, path, body file, headers) of a cell."""
        model = WORKLOADS[workload][0]
        folder = self.payloads
        if role.startswith("grpc"):
            file = folder / (f"{workload}.typed.grpc" if role == "grpc-typed" else f"{workload}.grpc")
            return "h2", "/inference.GRPCInferenceService/ModelInfer", file, {"content-type": "application/grpc", "te": "trailers"}
        if role.endswith("-bin") or (role == "rest-tls" and workload == "l"):
            length = (folder / f"{workload}.bin.len").read_text()
            return ("h1", f"/v2/models/{model}/infer", folder / f"{workload}.bin",
                    {"content-type": "application/octet-stream", "inference-header-content-length": length})
        proto3 = role == "transcode" and target.get("dialect") == "proto3"
        if proto3 and model in ("cls", "emb"):
            model += "-typed"      # a generic transcoder cannot turn raw_output_contents into JSON numbers
        file = folder / (f"{workload}.tc.json" if proto3 else f"{workload}.json")
        return "h1", f"/v2/models/{model}/infer", file, {"content-type": "application/json"}

    def trusted(self):
        context = ssl.create_default_context(cafile=self.run_dir / "tls.crt")
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        return context

    def check_handshake(self, port, alpn):
        """Connects over TLS; returns None, or an error message."""
        context = self.trusted()
        context.set_alpn_protocols([alpn])
        with socket.create_connection(("127.0.0.1", port), 20) as plain, \
                context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            agreed = connection.selected_alpn_protocol()
        return None if agreed == alpn else f"ALPN: {alpn} is expected, got {agreed}"

    def check(self, target, role, workload):
        """Sends one request; returns the size of the response body, or an error message."""
        port = int(fill(str(target["ports"][role]), self.values))
        if role in TLS_ROLES:
            problem = self.check_handshake(port, "h2" if role == "grpc-tls" else "http/1.1")
            if problem or role == "handshake":
                return problem or 0
        protocol, path, file, headers = self.request(target, role, workload)
        body = file.read_bytes()
        model = WORKLOADS[workload][0]
        if protocol == "h2":
            answer = self.call(port, role in TLS_ROLES, path, body[5:])
            if isinstance(answer, str):
                return answer
            if model == "echo" and len(answer) != len(body) - 5:
                return f"echo of {len(body) - 5} bytes came back with {len(answer)}"
            return len(answer) + 5
        if role in TLS_ROLES:
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=self.trusted())
        else:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            return f"HTTP {response.status}: {answer[:150]!r}"
        if headers["content-type"] == "application/json":
            output = json.loads(answer)["outputs"][0]
            data = output.get("data")
            if data is None:
                data = output.get("contents", {}).get("fp32_contents")
            count = {"echo": {"s": 4, "me": 150528}.get(workload), "cls": 1000, "emb": 1024}[model]
            if data is None or len(data) != count:
                return f"no output tensor of {count} elements: {answer[:150]!r}"
            if model == "echo":
                sent = json.loads((self.payloads / f"{workload}.json").read_bytes())["inputs"][0]["data"]
                if any(abs(a - b) > 1e-6 * max(1.0, abs(b)) for a, b in zip(data, sent)):
                    return "echo came back with other values"
        return len(answer)

    def call(self, port, secure, path, message):
        """The response to a unary gRPC call, or an error message."""
        import grpc
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        address = f"127.0.0.1:{port}"
        if secure:
            credentials = grpc.ssl_channel_credentials((self.run_dir / "tls.crt").read_bytes())
            opened = grpc.secure_channel(address, credentials, options=options)
        else:
            opened = grpc.insecure_channel(address, options=options)
        with opened as channel:
            try:
                return channel.unary_unary(path, request_serializer=None, response_deserializer=None)(message, timeout=20)
            except grpc.RpcError as e:
                return f"grpc {e.code().name}: {e.details()}"[:200]

    def handshakes(self, target, workload, pids, seconds):
        """Connections that are opened, get one response and are closed, with full handshakes or resumed ones."""
        port = int(fill(str(target["ports"]["handshake"]), self.values))
        # -www: tickets of TLS 1.3 follow the handshake, and s_time reads them with the response.
        command = self.pinned(self.load_cores, [
            "openssl", "s_time", "-connect", f"127.0.0.1:{port}", "-tls1_3", "-ciphersuites", CIPHER,
            HANDSHAKES[workload], "-www", "/", "-time", str(seconds)])
        before, begin = cpu_seconds(pids), time.time()
        clients = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                   for _ in range(HANDSHAKE_CLIENTS)]
        outputs = [client.communicate(timeout=seconds + 30)[0] for client in clients]
        took, cpu = time.time() - begin, cpu_seconds(pids) - before
        counts = [re.search(r"(\d+) connections in ([\d.]+) real seconds", out) for out in outputs]
        if not all(counts):
            return {"error": outputs[0][-300:]}
        done = sum(int(count.group(1)) for count in counts)
        # One character per connection: r if the session was resumed, t if not. The first ones of -reuse are not.
        marks = "".join("".join(re.findall(r"^[*rt]+", out, re.MULTILINE)) for out in outputs)
        resumed = marks.count("r")
        result = {"rps": done / took, "done": done, "cpu_ms_per_1000": cpu * 1e6 / done if done else None,
                  "cpu_share": cpu / took, "peak_rss_mb": memory_mb(pids, "VmHWM")}
        wrong = resumed if workload == "full" else done - resumed
        if wrong > done * 0.01 + HANDSHAKE_CLIENTS:
            result["suspect"] = f"{resumed} of {done} sessions resumed"
        return result

    def saturate(self, target, role, workload, pids, expected, seconds, opened=None):
        """Loads a cell in a closed loop, over its usual number of connections or with so many open ones."""
        if role == "handshake":
            return self.handshakes(target, workload, pids, seconds)
        if opened and opened > LOADED:
            port = int(fill(str(target["ports"][role]), self.values))
            head = PREFACE if role.startswith("grpc") else f"GET /v2/health/live HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
            with idle_connections(port, opened - LOADED, head):
                return self.saturate(target, role, workload, pids, expected, seconds, LOADED)
        protocol, path, file, headers = self.request(target, role, workload)
        port = int(fill(str(target["ports"][role]), self.values))
        _, connections, streams, _ = WORKLOADS[workload]
        if protocol == "h2":
            connections = max(1, connections // 4) if workload in ("s", "e") else connections
            streams = streams * 4 if workload in ("s", "e") else 1
        else:
            connections, streams = (connections * 2 if workload in ("s", "e") else connections), 1
        if opened:
            connections, streams = opened, streams if opened == 1 else 1
        command = GENERATORS[self.args.generator or "h2load"](
            self, f"{'https' if role in TLS_ROLES else 'http'}://127.0.0.1:{port}{path}", role, file, headers, (connections, streams), seconds)
        before, compiling = cpu_seconds(pids), compiling_seconds(pids)
        ended = subprocess.run(self.pinned(self.load_cores, command), capture_output=True, text=True, timeout=seconds + 30)
        out, cpu = ended.stdout, cpu_seconds(pids) - before
        counted = COUNTS[self.args.generator or "h2load"](out)
        if not counted or not counted[1]:
            said = " ".join((ended.stderr.strip() or out).split())[-300:]
            return {"error": f"{Path(command[0]).name} ended with {ended.returncode} and counted no response: {said or 'no output'}"}
        rps, done, not_2xx, mean_body = counted
        result = {"rps": rps, "done": done, "not_2xx": not_2xx, "mean_body": mean_body,
                  "cpu_ms_per_1000": cpu * 1e6 / done,
                  "cpu_share": cpu / seconds, "compiling": compiling_seconds(pids) - compiling, "peak_rss_mb": memory_mb(pids, "VmHWM")}
        # A response in flight at the end of the run may count in part.
        if role in TLS_ROLES and CIPHER not in out:
            result["suspect"] = f"no TLS with {CIPHER}"
        elif expected and mean_body and done > 50 and not (0.97 < mean_body / expected < 1.05):
            result["suspect"] = f"mean answer {mean_body:.0f} bytes, expected {expected}"
        return result

    def pace(self, target, role, workload, expected, rate=None, connections=1):
        """Latencies at this rate, or at the workload's."""
        protocol, path, file, headers = self.request(target, role, workload)
        port = int(fill(str(target["ports"][role]), self.values))
        if rate is None:
            rate = WORKLOADS[workload][3] if role in SLOW else FLAT_RATE.get(workload, WORKLOADS[workload][3])
        command = [str(Path(self.values["@STUBS@"]) / "oip-pace"), protocol, f"127.0.0.1:{port}", path, str(file), str(rate),
                   str(self.args.lat), str(expected), str(connections)] + [f"{k}:{v}" for k, v in headers.items()]
        done = subprocess.run(self.pinned(self.load_cores, command), capture_output=True, text=True, timeout=self.args.lat * 4 + 30)
        bad = re.search(r"bad (\d+)", done.stderr)
        return rate, [float(v) for v in done.stdout.split()], int(bad.group(1)) if bad else -1

    def prime(self, target, pids):
        """Warms up a target that compiles while it runs."""
        if self.args.quick or self.args.check_only:
            return
        cells = [cell for cell in target.get("prime", []) if not self.args.roles or cell[0] in self.args.roles]
        for role, workload, seconds in cells:
            self.saturate(target, role, workload, pids, None, max(1, round(seconds * PRIMED / sum(cell[2] for cell in cells))))

    def run_target(self, name):
        target = self.targets[name]
        with self.started(name) as pids:
            if target.get("ready"):
                wait_ready(ports_of(target)[0], target["ready"])
            time.sleep(self.args.settle)
            self.idle.setdefault(name, []).append(memory_mb(pids, "VmRSS"))
            self.prime(target, pids)
            for role in target["ports"]:
                if self.args.roles and role not in self.args.roles:
                    continue
                for workload in ROLE_WORKLOADS[role]:
                    if self.args.workloads and workload not in self.args.workloads:
                        continue
                    cell = self.results.setdefault(role, {}).setdefault(workload, {}).setdefault(
                        name, {"sat": [], "lat": [], "bad": 0})
                    expected = self.check(target, role, workload)
                    if isinstance(expected, str):
                        cell["error"] = expected
                        print(f"{role:10} {workload:4} {name:22} FAILED {expected}", flush=True)
                        continue
                    if self.args.check_only:
                        print(f"{role:10} {workload:4} {name:22} ok, answer of {expected} bytes", flush=True)
                        continue
                    reset_peak(pids)
                    self.saturate(target, role, workload, pids, expected, self.args.warm if self.args.quick else max(self.args.warm, target.get("warm", 0)))
                    r = self.saturate(target, role, workload, pids, expected, self.args.sat)
                    if "error" in r:
                        cell["error"] = r["error"]
                        print(f"{role:10} {workload:4} {name:22} FAILED {r['error']}", flush=True)
                        continue
                    cell["sat"].append(r)
                    latency, bad = "", 0
                    if role not in TLS_ROLES:
                        rate, values, bad = self.pace(target, role, workload, expected)
                        cell["rate"] = rate
                        cell["lat"].append(values)
                        cell["bad"] += bad
                        latency = f"p50 {statistics.median(values) if values else -1:8.0f} us @{rate}/s  "
                    print(f"{role:10} {workload:4} {name:22} {r.get('rps', 0):9.0f} req/s  "
                          f"{r.get('cpu_ms_per_1000') or 0:9.0f} ms CPU/1000  share {r.get('cpu_share', 0):.2f}  "
                          f"{latency}rss {r.get('peak_rss_mb', 0):.0f} MB"
                          f"{'  bad %d' % bad if bad else ''}{'  not2xx %d' % r['not_2xx'] if r.get('not_2xx') else ''}"
                          f"{'  SUSPECT ' + r['suspect'] if 'suspect' in r else ''}", flush=True)

    def run(self):
        names = list(self.args.targets or self.targets)
        missing = []
        for name in list(names):
            command = self.targets[name].get("command")
            wanted = [fill(c, self.values) for c in command] if command else []
            if command and (not wanted[0] or "" in wanted):
                missing.append(name)
                names.remove(name)
        if missing:
            print("skipped, program missing:", ", ".join(missing))
        stub = self.start_stub()
        try:
            for repeat in range(self.args.repeats):
                print(f"-- repeat {repeat + 1} of {self.args.repeats}", flush=True)
                for name in names:
                    try:
                        self.run_target(name)
                    except (RuntimeError, subprocess.SubprocessError, OSError) as e:
                        print(f"{name}: {e!r}", flush=True)
                    self.save()
        finally:
            stub.terminate()
            stub.wait()

    def paired(self):
        """All targets alive at once; each cell is measured in short rounds, in each of which every target has its turn."""
        order = random.Random(1)
        names = list(self.args.targets or self.targets)
        stub = self.start_stub()
        try:
            for repeat in range(self.args.repeats):
                print(f"-- start {repeat + 1} of {self.args.repeats}", flush=True)
                with contextlib.ExitStack() as alive:
                    pids = {}
                    for name in names:
                        pids[name] = alive.enter_context(self.started(name))
                        if self.targets[name].get("ready"):
                            wait_ready(ports_of(self.targets[name])[0], self.targets[name]["ready"])
                        self.prime(self.targets[name], pids[name])
                    for role, workload in self.cells(names):
                        self.paired_cell(repeat, role, workload, names, pids, order)
                self.save()
        finally:
            stub.terminate()
            stub.wait()

    def starts(self):
        """The cost of each cell after so many seconds of its load, in processes that are alive at once and measured by turns."""
        names = list(self.args.targets or self.targets)
        stub = self.start_stub()
        try:
            for role, workload in self.cells(names):
                with contextlib.ExitStack() as alive:
                    self.start_cell(role, workload, [name for name in names if role in self.targets[name]["ports"]], alive)
                self.save()
        finally:
            stub.terminate()
            stub.wait()

    def start_cell(self, role, workload, names, alive):
        pids, expected = {}, {}
        for name in names:
            for start in range(1, self.args.repeats + 1):
                one = f"{name}, start {start}"
                self.targets[one] = dict(self.targets[name], ports={r: port + 1000 * start for r, port in self.targets[name]["ports"].items()})
                pids[one] = alive.enter_context(self.started(one))
                if self.targets[one].get("ready"):
                    wait_ready(ports_of(self.targets[one])[0], self.targets[one]["ready"])
                expected[one] = self.check(self.targets[one], role, workload)
                if isinstance(expected[one], str):
                    sys.exit(f"peers: {role} {workload} {one}: {expected[one]}")
        loaded, order = 0, random.Random(1)
        for after in self.args.after:
            cell = {one: [] for one in pids}
            seconds = [after - loaded] * len(pids) + [self.args.sat] * (len(pids) * (self.args.paired or 5))
            for one, time_of in zip([*pids, *self.turns(pids, order, self.args.paired or 5)], seconds, strict=True):
                row = self.saturate(self.targets[one], role, workload, pids[one], expected[one], time_of)
                if "error" in row:
                    sys.exit(f"peers: {role} {workload} {one}: {row['error']}")
                cell[one].append(row)
                if len(cell[one]) == 1:
                    print(f"{role} {workload} {one}, until {after} s: {span(cpu({'sat': [row]}))}, {row['compiling']:.1f} s of it compiling", flush=True)
            loaded = after
            # The first is the load before.
            for one, rows in cell.items():
                self.results.setdefault(role, {}).setdefault(workload, {}).setdefault(one.split(",")[0], {}).setdefault(str(after), []).append(rows[1:])
                print(f"{role} {workload} {one}, after {after} s: {span([statistics.median(cpu({'sat': rows[1:]}))])}, {rows[-1]['peak_rss_mb']:.0f} MB", flush=True)
        if self.args.code:
            folder = Path(self.args.code)
            folder.mkdir(parents=True, exist_ok=True)
            for one, processes in pids.items():
                listed = subprocess.run([str(Path(os.environ["JAVA_HOME"]) / "bin/jcmd"), str(processes[0]), "Compiler.codelist"], capture_output=True, text=True, check=True)
                (folder / f"{role}-{workload}-{one.replace(', start ', '-')}.txt").write_text(listed.stdout)

    def cells(self, names):
        roles = [role for role in ROLE_WORKLOADS if not self.args.roles or role in self.args.roles]
        for role in roles:
            for workload in ROLE_WORKLOADS[role]:
                if not self.args.workloads or workload in self.args.workloads:
                    yield role, workload

    def paired_cell(self, repeat, role, workload, names, pids, order):
        expected = {name: self.check(self.targets[name], role, workload) for name in names if role in self.targets[name]["ports"]}
        for name, answer in expected.items():
            if isinstance(answer, str):
                sys.exit(f"peers: {role} {workload} {name}: {answer}")
            self.saturate(self.targets[name], role, workload, pids[name], answer, max(self.args.warm, self.targets[name].get("warm", 0)))
        counts = self.args.connections if self.args.connections and workload == "s" and role not in TLS_ROLES else [None]
        for count in counts:
            label = f"{workload}, {count} connections" if count else workload
            cell = self.results.setdefault(role, {}).setdefault(label, {name: {"sat": []} for name in expected})
            for name in self.turns(expected, order, self.args.paired):
                row = self.saturate(self.targets[name], role, workload, pids[name], expected[name], self.args.sat, count)
                if "error" in row:
                    sys.exit(f"peers: {role} {label} {name}: {row['error']}")
                cell[name]["sat"].append(dict(row, start=repeat))
            medians = [f"{name} {span([statistics.median(started(cell[name], repeat))])}" for name in expected]
            print(f"{role} {label}: {', '.join(medians)}", flush=True)
        if self.args.half and role not in TLS_ROLES and counts == [None]:
            self.half(role, workload, cell, expected, order)

    def turns(self, names, order, rounds):
        """Each name in every round, in an order that changes."""
        for _ in range(rounds):
            turns = list(names)
            order.shuffle(turns)
            yield from turns

    def half(self, role, workload, cell, expected, order):
        """The latencies of all targets at half of what the slowest of them serves."""
        rate = int(min(statistics.median(r["rps"] for r in cell[name]["sat"]) for name in expected) / 2)
        connections = 8 if workload in ("s", "e") else WORKLOADS[workload][1]
        for name in self.turns(expected, order, max(3, self.args.paired // 3)):
            _, values, bad = self.pace(self.targets[name], role, workload, expected[name], rate, connections)
            cell[name].setdefault("half", []).append({"rate": rate, "p99": percentile(values, .99), "bad": bad})

    def save(self):
        Path(self.args.out).write_text(json.dumps({"args": vars(self.args), "idle_rss_mb": self.idle, "results": self.results}))


# Maximum CPU time of Isthmus per request in microseconds, and Envoy's on the machine where the goal was set
# (bench/NOTES.md).
GOALS = {
    ("grpc", "s"): (20, 50), ("grpc", "e"): (25, 50), ("grpc", "m9"): (450, 490), ("grpc", "l"): (25_000, 28_000),
    ("rest", "s"): (25, 54), ("transcode-bin", "m9"): (550, 470), ("transcode", "s"): (40, 96),
    ("transcode", "m9"): (2_400, 25_000), ("transcode", "m17"): (3_500, 35_000), ("transcode", "mu8"): (1_200, 17_000),
    ("transcode", "me"): (7_000, 79_000),
}

# Maximum CPU time of Isthmus over TLS, as a share of the peer's in the same run.
TLS_GOALS = {"envoy": 0.7, "haproxy": 1.2}


def cpu(cell):
    """CPU time of the proxy per request in microseconds, one figure per repeat."""
    return [r["cpu_ms_per_1000"] for r in cell["sat"] if r.get("cpu_ms_per_1000")]


def span(figures):
    if not figures:
        return ""
    low, high = min(figures), max(figures)
    unit, scale = ("ms", 1000) if high >= 1000 else ("µs", 1)
    texts = [f"{f / scale:.3g}" if scale > 1 else f"{f:.0f}" for f in (low, high)]
    return f"{texts[0]} {unit}" if texts[0] == texts[1] else f"{texts[0]} to {texts[1]} {unit}"


def verdict(figures, goal):
    return "met" if statistics.median(figures) <= goal else "missed"


def ratios(results):
    """One row per cell: CPU time of Isthmus and its peers, for all runs, and the goal."""
    peers = ("haproxy", "nginx", "envoy")
    lines = ["\nCPU time of the proxy per request, for all runs; as a share of Envoy's in the same run; goals are for the median:\n",
             "| path | " + " | ".join(peers) + " | isthmus | of Envoy's | goal | | goal, of Envoy's | |",
             "|---|" + "---|" * (len(peers) + 6)]
    for role, workloads in results.items():
        for workload, rows in workloads.items() if role not in TLS_ROLES else ():
            found = {name.split("-")[0]: cpu(cell) for name, cell in rows.items() if cpu(cell)}
            # No peer supports binary REST to gRPC: they are measured with REST on both sides.
            if role == "transcode-bin":
                for name, cell in results.get("rest-bin", {}).get(workload, {}).items():
                    if not name.startswith("isthmus"):
                        found.setdefault(name.split("-")[0], cpu(cell))
            if "isthmus" not in found:
                continue
            own = found["isthmus"]
            shares = [a / b for a, b in zip(own, found.get("envoy", []), strict=False)]
            cells = [span(found.get(p, [])) for p in peers] + [span(own), ", ".join(f"{share:.2f}" for share in shares)]
            goal, envoys = GOALS.get((role, workload), (None, None))
            cells += ["", ""] if goal is None else [span([goal]), verdict(own, goal)]
            cells += ["", ""] if goal is None or not shares else [f"{goal / envoys:.2f}", verdict(shares, goal / envoys)]
            lines.append(f"| {role} {workload} | " + " | ".join(cells) + " |")
    return lines if len(lines) > 3 else []


def before_ratios(results):
    """One row per cell: CPU time of the build before and of this one, for all runs, and their ratio in each repeat."""
    lines = ["\nCPU time of the proxy per request, the build before and this one, for all runs; ratio in the same repeat:\n",
             "| path | before | now | now / before | median |", "|---|---|---|---|---|"]
    for role, workloads in results.items():
        for workload, rows in workloads.items():
            found = {name.split("-")[0]: cpu(cell) for name, cell in rows.items()}
            old, new = found.get("before", []), found.get("isthmus", [])
            shares = [a / b for a, b in zip(new, old, strict=False)]
            if shares:
                lines.append(f"| {role} {workload} | {span(old)} | {span(new)} | {', '.join(f'{share:.2f}' for share in shares)} "
                             f"| {statistics.median(shares):.2f} |")
    return lines if len(lines) > 3 else []


# Isthmus' CPU time as a share of the best peer's in the same round, at most.
PAIRED_GOALS = {
    ("grpc", "s"): 0.9, ("grpc", "m9"): 0.9, ("grpc", "l"): 0.6, ("rest", "s"): 1.0, ("rest", "m9"): 1.1,
    ("rest-bin", "m9"): 0.9, ("rest-bin", "l"): 0.8, ("transcode", "m9"): 0.05, ("transcode", "me"): 0.05,
    ("rest-tls", "s"): 1.1, ("rest-tls", "m9"): 1.1, ("rest-tls", "l"): 0.8, ("handshake", "full"): 1.0, ("handshake", "resumed"): 1.0,
}
PEERS = ("haproxy", "nginx", "envoy")
PAIRED_HEAD = """
CPU time of the proxy per request, median of the rounds, and from the lowest to the highest median of a start. Isthmus' share of it: its time over the target's in the same round, median
and 95 % interval. A goal is for the best peer's row; it is met or missed if the whole interval is, else open.

| path | target | CPU | of single starts | Isthmus' share of it | interval | rounds | goal | |
|---|---|---|---|---|---|---|---|---|"""


def interval(values):
    """The 95 % confidence interval of the median, from order statistics (binomial); the range of fewer than six values."""
    values, n = sorted(values), len(values)
    tail, k = 0.0, 0
    while n >= 6 and tail + math.comb(n, k) / 2 ** n <= 0.025:
        tail += math.comb(n, k) / 2 ** n
        k += 1
    k = max(k - 1, 0)
    return values[k], values[n - 1 - k]


def started(row, start):
    """The figures of one start."""
    return cpu({"sat": [r for r in row["sat"] if r["start"] == start]})


def judged(low, high, goal):
    return "met" if high <= goal else "missed" if low > goal else "open"


def paired_rows(role, workload, cell):
    times = {name: cpu(row) for name, row in cell.items()}
    own = next((name for name in times if name.startswith("isthmus")), next(iter(times)))
    peers = [name for name in times if name.split("-")[0] in PEERS]
    best = min(peers, key=lambda name: statistics.median(times[name]), default=None)
    goal = PAIRED_GOALS.get((role, workload))
    rows = []
    for name, of in times.items():
        shares = [a / b for a, b in zip(times[own], of, strict=True)]
        low, high = interval(shares)
        judgement = f"{goal:g} | {judged(low, high, goal)}" if goal and name == best else " | "
        starts = span([statistics.median(started(cell[name], start)) for start in {r["start"] for r in cell[name]["sat"]}])
        rows.append(f"| {role} {workload} | {name} | {span([statistics.median(of)])} | {starts} | {statistics.median(shares):.2f} "
                    f"| {low:.2f} to {high:.2f} | {len(shares)} | {judgement} |")
    return rows


def half_rows(results):
    """One row per cell and target: the latency at half of what the slowest target serves."""
    lines = ["\nThe 99th percentile of latency at half of what the slowest target serves: median of the turns, minimum and maximum.\n",
             "| path | target | requests/s | p99 | bad responses |", "|---|---|---|---|---|"]
    for role, workloads in results.items():
        for workload, cell in workloads.items():
            for name, runs in ((name, row["half"]) for name, row in cell.items() if row.get("half")):
                p99 = [run["p99"] for run in runs]
                lines.append(f"| {role} {workload} | {name} | {runs[0]['rate']} | {span([statistics.median(p99)])} ({span(p99)}) "
                             f"| {sum(run['bad'] for run in runs)} |")
    return lines if len(lines) > 3 else []


def start_rows(results):
    """One row per cell, target and time: how much one start differs from another, by its share of the mean of each round."""
    lines = ["\nCPU time of the proxy per request by start (its share of the mean of each round, times the median of all), and the highest over the lowest.\n",
             "| path | target | after | CPU, sorted | highest / lowest |", "|---|---|---|---|---|"]
    for role, workloads in results.items():
        for workload, cell in workloads.items():
            for name, times in cell.items():
                for after, starts in times.items():
                    rounds = list(zip(*(cpu({"sat": rows}) for rows in starts), strict=True))
                    shares = zip(*([of / statistics.mean(turn) for of in turn] for turn in rounds), strict=True)
                    usual = statistics.median(of for turn in rounds for of in turn)
                    figures = sorted(usual * statistics.median(of) for of in shares)
                    lines.append(f"| {role} {workload} | {name} | {after} s | {', '.join(span([each]) for each in figures)} | {figures[-1] / figures[0]:.2f} |")
    return lines


def growth_rows(results):
    """One row per role and target: the cost with more connections as a share of that with the first number of them."""
    lines = []
    for role, workloads in results.items():
        cells = {workload: cell for workload, cell in workloads.items() if "connections" in workload}
        if len(cells) > 1:
            first = next(iter(cells.values()))
            lines += [f"\nCPU time per request with more connections, as a share of that of the first column ({role} s).\n",
                      "| target | " + " | ".join(workload.removeprefix("s, ") for workload in cells) + " |", "|---|" + "---|" * len(cells)]
            lines += [f"| {name} | " + " | ".join(f"{statistics.median(cpu(cell[name])) / statistics.median(cpu(first[name])):.2f}"
                                                  for cell in cells.values()) + " |" for name in first]
    return lines


def paired_report(results):
    rows = [row for role, workloads in results.items() for workload, cell in workloads.items() for row in paired_rows(role, workload, cell)]
    return "\n".join([PAIRED_HEAD, *rows, *half_rows(results), *growth_rows(results)])


def tls_ratios(results):
    """One row per cell over TLS: CPU time of Isthmus and its peers, for all runs, and its shares of Envoy's and HAProxy's."""
    lines = ["\nTLS, CPU time of the proxy per request or handshake, for all runs; goals are for the median of the shares:\n",
             "| path | haproxy | nginx | envoy | isthmus | "
             + " | ".join(f"of {peer.capitalize()}'s | goal | " for peer, goal in TLS_GOALS.items()) + "|",
             "|---|" + "---|" * (4 + 3 * len(TLS_GOALS))]
    for role in TLS_ROLES:
        for workload, rows in results.get(role, {}).items():
            found = {name.split("-")[0]: cpu(cell) for name, cell in rows.items()}
            own = found.get("isthmus", [])
            cells = [span(found.get(name, [])) for name in ("haproxy", "nginx", "envoy", "isthmus")]
            for peer, goal in TLS_GOALS.items():
                shares = [a / b for a, b in zip(own, found.get(peer, []), strict=False)]
                cells += [", ".join(f"{share:.2f}" for share in shares), f"{goal:.2f}", verdict(shares, goal) if shares else ""]
            lines.append(f"| {role} {workload} | " + " | ".join(cells) + " |")
    return lines if len(lines) > 3 else []


def h2load(bench, url, role, file, headers, connections, seconds):
    command = ["h2load", "-t", "1", "-c", str(connections[0]), "-m", str(connections[1]), "-D", str(seconds), "-d", str(file),
               "-w", "24", "-W", "26"]
    if not role.startswith("grpc"):
        command.append("--h1")
    for k, v in headers.items():
        command += ["-H", f"{k}: {v}"]
    if role in TLS_ROLES:
        command += [f"--tls13-ciphers={CIPHER}", "--groups=X25519"]
    return [*command, url]


def h2load_counts(out):
    rate = re.search(r"finished in ([\d.]+)(ms|s), ([\d.]+) req/s", out)
    counts = re.search(r"(\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored", out)
    codes = re.search(r"status codes: (\d+) 2xx", out)
    if not (rate and counts and codes):
        return None
    done = int(counts.group(2))
    data = re.search(r"traffic:.*\((\d+)\) data", out)
    return float(rate.group(3)), done, int(counts.group(1)) - int(codes.group(1)), int(data.group(1)) / done if data and done else 0


def fortio(bench, url, role, file, headers, connections, seconds):
    """For HTTP/1.1 without TLS."""
    command = [bench.values["@FORTIO@"], "load", "-quiet", "-json", "-", "-c", str(connections[0]), "-qps", "0", "-t", f"{seconds}s",
               "-payload-file", str(file)]
    for k, v in headers.items():
        command += ["-H", f"{k}: {v}"]
    return [*command, url]


def fortio_counts(out):
    try:
        result = json.loads(out[out.index("{"):])
    except ValueError:
        return None
    codes, done = result["RetCodes"], result["DurationHistogram"]["Count"]
    return result["ActualQPS"], done, done - codes.get("200", 0), 0


def ghz(bench, url, role, file, headers, connections, seconds):
    """For gRPC without TLS. It reads a message without its prefix."""
    message = bench.run_dir / f"{file.name}.message"
    message.write_bytes(file.read_bytes()[5:])
    host = url.split("/")[2]
    return [bench.values["@GHZ@"], "--insecure", "--disable-template-data", "--proto", str(HERE.parents[1] / "proto/src/main/proto/inference.proto"), "--call",
            "inference.GRPCInferenceService/ModelInfer", "-B", str(message), "-c", str(connections[0] * connections[1]), "--connections",
            str(connections[0]), "-z", f"{seconds}s", "--duration-stop", "wait", "-O", "json", host]


def ghz_counts(out):
    try:
        result = json.loads(out[out.index("{"):])
    except ValueError:
        return None
    good = result.get("statusCodeDistribution", {}).get("OK", 0)
    return result["count"] / (result["total"] / 1e9), good, result["count"] - good, 0


GENERATORS = {"h2load": h2load, "fortio": fortio, "ghz": ghz}
COUNTS = {"h2load": h2load_counts, "fortio": fortio_counts, "ghz": ghz_counts}


def percentile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))]


def report(path):
    """Markdown tables of medians (min-max over the repeats)."""
    data = json.loads(Path(path).read_text())
    lines = [f"Load by {data['args'].get('generator') or 'h2load'}."]
    for role, workloads in data["results"].items():
        for workload, rows in workloads.items():
            if any(cell["sat"] for cell in rows.values()):
                lines += cell_table(role, workload, rows)
    lines += before_ratios(data["results"]) + ratios(data["results"]) + tls_ratios(data["results"])
    lines += ["\n**Idle RSS, MB** (ready, and loaded as targets.json says, before anything is measured)\n", "| target | RSS |", "|---|---|"]
    lines += [f"| {n} | {statistics.median(v):.0f} |" for n, v in data["idle_rss_mb"].items() if n != "direct"]
    return "\n".join(lines)


def cell_table(role, workload, rows):
    """All targets of a cell; without latencies where they are not measured."""
    rate = next((cell["rate"] for cell in rows.values() if "rate" in cell), None)
    short = "handshakes" if role == "handshake" else "req"
    columns = ["target", f"{short}/s at saturation", f"proxy CPU ms / 1,000 {short}", "core share"]
    if rate:
        columns += ["p50 us", "p99 us", "p99.9 us", "p50 added us", "p99 added us"]
    columns.append("peak RSS MB")
    lines = [f"\n**{role} / {workload}**" + (f" (latency at {rate}/s)\n" if rate else "\n"),
             "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    direct = [v for lat in rows.get("direct", {"lat": []})["lat"] for v in lat]
    for name, cell in rows.items():
        if cell.get("error"):
            lines.append(f"| {name} | failed: {cell['error']} |" + " |" * (len(columns) - 2))
            continue
        sat = [r for r in cell["sat"] if "rps" in r]
        lat = [v for run in cell["lat"] for v in run]
        if not sat or (rate and not lat):
            continue
        proxied = name != "direct"
        cells = [name + (f" (bad {cell['bad']})" if cell["bad"] else ""), spread(sat, "rps"),
                 spread(sat, "cpu_ms_per_1000", 1) if proxied else "-", f"{statistics.median(r['cpu_share'] for r in sat):.2f}"]
        if rate:
            cells += [f"{percentile(lat, .5):,.0f}", f"{percentile(lat, .99):,.0f}",
                      f"{percentile(lat, .999):,.0f}" if len(lat) >= 3000 else f"max {max(lat):,.0f}"]
            cells += [f"{percentile(lat, q) - percentile(direct, q):,.0f}" if direct and proxied else "" for q in (.5, .99)]
        cells.append(spread(sat, "peak_rss_mb") if proxied else "-")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def spread(runs, key, digits=0):
    """Median, minimum and maximum of the runs."""
    v = [r[key] for r in runs]
    return f"{statistics.median(v):,.{digits}f} ({min(v):,.{digits}f}-{max(v):,.{digits}f})"


def options(description):
    """The parser of the options, which other benches add theirs to."""
    p = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--targets", nargs="*", help="names from targets.json (default: all)")
    p.add_argument("--roles", nargs="*")
    p.add_argument("--workloads", nargs="*")
    p.add_argument("--attach", action="append", default=[], metavar="NAME,pid=N,ROLE=PORT,...")
    p.add_argument("--before", metavar="DIST", help="an unpacked distribution of another Isthmus: targets before and before-rest")
    p.add_argument("--more-targets", action="append", default=[], metavar="FILE")
    p.add_argument("--tools", metavar="FILE")
    p.add_argument("--payloads", default="payloads")
    p.add_argument("--run-dir", default="run")
    p.add_argument("--out", default="results.json")
    p.add_argument("--stub-port", type=int, default=20900)
    p.add_argument("--proxy-core", type=int, default=0)
    p.add_argument("--load-core", type=int, default=1)
    p.add_argument("--nice", type=int, default=0, help="niceness of everything measured (negative needs rights)")
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--paired", type=int, metavar="ROUNDS", help="all targets alive at once, by turns in rounds of --sat seconds; only CPU time")
    p.add_argument("--connections", type=int, nargs="+", help="with --paired: s with so many open connections, 1 100 9900 for instance")
    p.add_argument("--after", type=int, nargs="+", metavar="S", help="cost after so many seconds of load, in --repeats starts: 60 300 for instance")
    p.add_argument("--code", metavar="FOLDER", help="with --after: the list of compiled methods of each start, by jcmd")
    p.add_argument("--half", action="store_true", help="with --paired: latencies at half of what the slowest target serves")
    p.add_argument("--generator", choices=list(GENERATORS), help="the load generator; fortio for the roles over HTTP/1.1 and ghz for grpc, without TLS")
    p.add_argument("--threads", type=int, default=1, help="threads and cores of each target; more than one shares them with the load")
    p.add_argument("--warm", type=int, default=1)
    p.add_argument("--sat", type=int, default=3)
    p.add_argument("--lat", type=int, default=3)
    p.add_argument("--settle", type=float, default=1.0)
    p.add_argument("--quick", action="store_true", help="skip the long warm-up of targets that need one: figures are meaningless")
    p.add_argument("--check-only", action="store_true", help="start everything, check responses, measure nothing")
    p.add_argument("--report", metavar="RESULTS", help="print the tables of a results file and exit")
    return p


def main():
    args = options(__doc__).parse_args()
    if args.report:
        print(report(args.report))
        return
    bench = Bench(args)
    if args.after:
        bench.starts()
        print("\n".join(start_rows(bench.results)))
        return
    if args.paired:
        bench.paired()
        print(f"Load by {args.generator or 'h2load'}.\n" + paired_report(bench.results))
        return
    bench.run()
    bench.save()
    if not args.check_only:
        print(report(args.out))


if __name__ == "__main__":
    main()
