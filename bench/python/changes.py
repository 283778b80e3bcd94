#!/usr/bin/env python3
"""Changes of the configuration of OIP proxies under load. bench/changes runs it.

Each target routes models by name (the path /v2/models/NAME/) over HTTP/1.1 to two stubs. It runs on one core; the stubs and this
program share the other. For each target and number of routes:
  start        from the start of the process to the first 200 of the last route;
  propagation  a route is added to those that are there: from the rename of the new configuration, and the signal where the target
               needs one, to the first 200 of the new route, which is asked for every 2 ms on new connections. Median and maximum;
  CPU          of the target for one request, with h2load over all routes in turn, before any change;
  changes      open connections send --rate requests a second in all, each to a route that stays, while a route is added or removed
               every second: requests that failed (another status, or no response), connections that the target closed between two
               requests, and the 99th percentile and maximum of the latency, against the same load without changes;
  memory       resident memory of the target's processes, after the start and after the changes.

Isthmus and Envoy read the renamed file by themselves; nginx gets SIGHUP, HAProxy's master SIGUSR2: both start new worker processes.
"""
import argparse
import contextlib
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[2] / "conformance"))
from oip_conformance.ports import free_port  # noqa: E402

CONNECTIONS = 8
PROXY_CORE, LOAD_CORE = "0", "1"


def tree(pid):
    """The process and all its descendants."""
    pids, todo = [], [pid]
    while todo:
        each = todo.pop()
        pids.append(each)
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{each}/task").iterdir():
                todo += [int(child) for child in (task / "children").read_text().split()]
    return pids


def cpu_seconds(pid):
    ticks = 0
    for each in tree(pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def resident_mb(pid):
    kilobytes = 0
    for each in tree(pid):
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{each}/status").read_text().splitlines()
            kilobytes += int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
    return kilobytes / 1024


class Target:
    """A proxy with files of its own."""
    signal = None

    def __init__(self, args, folder, stubs):
        self.args, self.folder, self.stubs = args, folder, stubs
        self.port = free_port()
        self.process = None

    def write(self, name, text):
        """Replaces a file by renaming, so that no reader sees half of it."""
        new = self.folder / f".{name}.new"
        new.write_text(text)
        new.rename(self.folder / name)

    def stub(self, route):
        return self.stubs[route % len(self.stubs)]

    def start(self, routes):
        self.configure(routes)
        log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(["taskset", "-c", PROXY_CORE, *self.command()], stdout=log, stderr=log, start_new_session=True)

    def change(self, routes):
        self.configure(routes)
        if self.signal:
            self.process.send_signal(self.signal)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Isthmus(Target):
    def command(self):
        return [self.args.isthmus, "serve", "--config", str(self.folder / "isthmus.yaml")]

    def configure(self, routes):
        upstreams = "".join(f"  s{i}: {{ protocol: rest, endpoints: ['127.0.0.1:{port}'], dialect: generic }}\n"
                            for i, port in enumerate(self.stubs))
        models = "".join(f"  m{i}: {{ targets: [{{ upstream: s{i % len(self.stubs)} }}] }}\n" for i in routes)
        self.write("isthmus.yaml", f"listeners: [{{ host: 127.0.0.1, port: {self.port} }}]\nadmin: {{ port: 0 }}\n"
                                   f"upstreams:\n{upstreams}models:\n{models}")


class Nginx(Target):
    signal = signal.SIGHUP

    def command(self):
        return ["nginx", "-c", str(self.folder / "nginx.conf"), "-p", str(self.folder), "-e", str(self.folder / "log")]

    def configure(self, routes):
        temporary = "".join(f"{kind}_temp_path {self.folder}/t-{kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        upstreams = "".join(f"upstream s{i} {{ server 127.0.0.1:{port}; keepalive 64; }}\n" for i, port in enumerate(self.stubs))
        locations = "".join(f"location ^~ /v2/models/m{i}/ {{ proxy_pass http://s{i % len(self.stubs)}; }}\n" for i in routes)
        self.write("nginx.conf", f"""worker_processes 1; daemon off; pid {self.folder}/pid;
events {{ worker_connections 4096; }}
http {{ access_log off; {temporary}
keepalive_requests 1000000; proxy_http_version 1.1; proxy_set_header Connection "";
{upstreams}server {{ listen 127.0.0.1:{self.port};
location / {{ return 404; }}
{locations}}} }}
""")


class Haproxy(Target):
    signal = signal.SIGUSR2

    def command(self):
        return ["haproxy", "-W", "-f", str(self.folder / "haproxy.cfg")]

    def configure(self, routes):
        self.write("routes.map", "".join(f"/v2/models/m{i}/ s{i % len(self.stubs)}\n" for i in routes))
        backends = "".join(f"backend s{i}\n  server stub 127.0.0.1:{port}\n" for i, port in enumerate(self.stubs))
        self.write("haproxy.cfg", f"""global
  nbthread 1
defaults
  mode http
  http-reuse always
  timeout connect 2s
  timeout client 60s
  timeout server 60s
frontend rest
  bind 127.0.0.1:{self.port}
  use_backend %[path,map_beg({self.folder}/routes.map,none)]
backend none
  http-request return status 404
{backends}""")


class Envoy(Target):
    def command(self):
        self.write("envoy.yaml", self.bootstrap())
        return [self.args.envoy, "-c", str(self.folder / "envoy.yaml"), "--concurrency", "1", "--disable-hot-restart", "-l", "error"]

    def configure(self, routes):
        found = [{"match": {"prefix": f"/v2/models/m{i}/"}, "route": {"cluster": f"s{i % len(self.stubs)}", "timeout": "60s"}} for i in routes]
        hosts = [{"name": "all", "domains": ["*"], "routes": found}]
        self.write("routes.yaml", json.dumps({"resources": [
            {"@type": "type.googleapis.com/envoy.config.route.v3.RouteConfiguration", "name": "models", "virtual_hosts": hosts}]}))

    def bootstrap(self):
        kind = "type.googleapis.com/envoy.extensions.filters"
        manager = {
            "@type": f"{kind}.network.http_connection_manager.v3.HttpConnectionManager", "codec_type": "HTTP1", "stat_prefix": "in",
            "rds": {"route_config_name": "models", "config_source": {
                "resource_api_version": "V3",
                "path_config_source": {"path": f"{self.folder}/routes.yaml", "watched_directory": {"path": str(self.folder)}}}},
            "http_filters": [{"name": "envoy.filters.http.router", "typed_config": {"@type": f"{kind}.http.router.v3.Router"}}]}
        clusters = [{"name": f"s{i}", "connect_timeout": "2s", "load_assignment": {"cluster_name": f"s{i}", "endpoints": [
            {"lb_endpoints": [{"endpoint": {"address": self.address(port)}}]}]}} for i, port in enumerate(self.stubs)]
        listener = {"address": self.address(self.port), "filter_chains": [{"filters": [
            {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}]}
        return json.dumps({"node": {"id": "bench", "cluster": "bench"},
                           "static_resources": {"listeners": [listener], "clusters": clusters}})

    @staticmethod
    def address(port):
        return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


TARGETS = {"haproxy": Haproxy, "nginx": Nginx, "envoy": Envoy, "isthmus": Isthmus}


def status(port, route, payload):
    """That of a request on a connection of its own; 0 if there is no response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", f"/v2/models/m{route}/infer", payload, {"content-type": "application/json"})
        return connection.getresponse().status
    except OSError:
        return 0
    except http.client.HTTPException:
        return 0
    finally:
        connection.close()


def until_served(port, route, payload, limit=60):
    """Seconds until the route has a 200."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < limit:
        if status(port, route, payload) == 200:
            return time.perf_counter() - begin
        time.sleep(0.002)
    raise RuntimeError(f"m{route} is not served within {limit} s")


@dataclass
class Outcome:
    """Of a load."""
    latencies: list = field(default_factory=list)
    failed: int = 0
    closed: int = 0


class Load(threading.Thread):
    """One connection that sends requests at a fixed rate. Latency counts from when a request was due."""

    def __init__(self, port, routes, payload, rate, seconds, first):
        super().__init__()
        self.port, self.routes, self.rate, self.seconds, self.first = port, routes, rate, seconds, first
        self.requests = [(f"POST /v2/models/m{i}/infer HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
                          f"Content-Length: {len(payload)}\r\n\r\n").encode() + payload for i in routes]
        self.outcome = Outcome()
        self.connection = None

    def run(self):
        begin = time.perf_counter() + self.first / self.rate
        for i in range(int(self.seconds * self.rate)):
            due = begin + i / self.rate * 1.0
            time.sleep(max(0.0, due - time.perf_counter()))
            if self.answered(self.requests[i * 7919 % len(self.requests)]):
                self.outcome.latencies.append(time.perf_counter() - due)
            else:
                self.outcome.failed += 1
        self.close()

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def answered(self, request):
        """Whether the response is a 200. A connection that was closed before the request is replaced, as clients do."""
        if self.connection and self.closed():
            self.outcome.closed += 1
            self.close()
        try:
            if not self.connection:
                self.connection = socket.create_connection(("127.0.0.1", self.port), 10)
                self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connection.sendall(request)
            response = http.client.HTTPResponse(self.connection, method="POST")
            response.begin()
            response.read()
            if response.will_close:
                self.outcome.closed += 1
                self.close()
            return response.status == 200
        except (OSError, http.client.HTTPException):
            self.close()
            return False

    def closed(self):
        self.connection.setblocking(False)
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self.connection.settimeout(10)


def loaded(target, routes, args, payload, seconds, changes=None):
    """Loads the routes, and meanwhile makes the changes, one a second."""
    clients = [Load(target.port, routes, payload, args.rate / CONNECTIONS, seconds, i / CONNECTIONS) for i in range(CONNECTIONS)]
    for client in clients:
        client.start()
    for change in changes or ():
        time.sleep(1)
        if any(client.is_alive() for client in clients):
            target.change(change)
    for client in clients:
        client.join()
    outcome = Outcome()
    for client in clients:
        outcome.latencies += client.outcome.latencies
        outcome.failed += client.outcome.failed
        outcome.closed += client.outcome.closed
    return outcome


def cpu_per_request(target, routes, payload_file, seconds, folder):
    """Microseconds of the target's CPU time, over all routes in turn."""
    file = folder / "urls"
    file.write_text("".join(f"http://127.0.0.1:{target.port}/v2/models/m{i}/infer\n" for i in routes))
    command = ["taskset", "-c", LOAD_CORE, "h2load", "--h1", "-t", "1", "-c", "16", "-i", str(file), "-d", str(payload_file),
               "-H", "content-type: application/json", "-D"]
    subprocess.run([*command, str(seconds)], check=True, capture_output=True)
    before = cpu_seconds(target.process.pid)
    output = subprocess.run([*command, str(seconds)], check=True, capture_output=True, text=True).stdout
    took = cpu_seconds(target.process.pid) - before
    line = next(line for line in output.splitlines() if line.startswith("status codes:"))
    return took * 1e6 / int(line.split()[2])


def measure(name, count, args, payload, stubs):
    routes = list(range(count))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        target = TARGETS[name](args, folder, stubs)
        target.start(routes)
        try:
            result = {"target": name, "routes": count, "start": until_served(target.port, count - 1, payload)}
            result["memory"] = resident_mb(target.process.pid)
            if args.warm:
                cpu_per_request(target, routes, args.payload, args.warm, folder)
            result["cpu"] = cpu_per_request(target, routes, args.payload, max(1, args.seconds // 4), folder)
            times = []
            for i in range(args.rounds):
                routes.append(count + i)
                target.change(routes)
                times.append(until_served(target.port, routes[-1], payload))
                time.sleep(0.5)
            result["propagation"] = times
            del routes[count:]
            target.change(routes)
            time.sleep(2)
            result["still"] = vars(loaded(target, routes, args, payload, args.seconds))
            changes = [routes if i % 2 else [*routes, count] for i in range(args.seconds - 1)]
            result["changes"] = vars(loaded(target, routes, args, payload, args.seconds, changes))
            result["memory_after"] = resident_mb(target.process.pid)
            return result
        finally:
            target.stop()


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def row(result):
    still, changes = result["still"], result["changes"]
    cells = [result["target"], f"{result['routes']:,}", f"{result['start']:.2f} s",
             f"{statistics.median(result['propagation']) * 1e3:.0f} ({max(result['propagation']) * 1e3:.0f}) ms", f"{result['cpu']:.0f} µs",
             f"{changes['failed']} of {len(changes['latencies']) + changes['failed']:,}", str(changes["closed"]),
             *(f"{percentile(still['latencies'], q) * 1e3:.1f} → {percentile(changes['latencies'], q) * 1e3:.1f} ms" for q in (0.99, 1)),
             f"{result['memory']:.0f} → {result['memory_after']:.0f} MB"]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", nargs="+", choices=list(TARGETS), default=list(TARGETS))
    parser.add_argument("--routes", nargs="+", type=int, default=[1, 100, 1000])
    parser.add_argument("--rounds", type=int, default=15, help="changes whose propagation is measured")
    parser.add_argument("--seconds", type=int, default=20, help="of each load")
    parser.add_argument("--warm", type=int, default=0, help="seconds of load before anything is measured")
    parser.add_argument("--rate", type=int, default=400, help="requests a second")
    parser.add_argument("--out", help="a file for the results as JSON")
    for tool in ("isthmus", "envoy", "stub", "payload"):
        parser.add_argument(f"--{tool}", required=True)
    args = parser.parse_args()
    payload = Path(args.payload).read_bytes()
    os.sched_setaffinity(0, {int(LOAD_CORE)})
    stubs = [free_port() for _ in range(2)]
    processes = [subprocess.Popen([args.stub, f"127.0.0.1:{port}"]) for port in stubs]
    results, failures = [], 0
    try:
        for port in stubs:
            until_served(port, 0, payload)
        print("| proxy | routes | start | propagation | CPU a request | failed | closed | p99 | maximum | memory |\n" + "|---" * 10 + "|")
        for count in args.routes:
            for name in args.targets:
                try:
                    results.append(measure(name, count, args, payload, stubs))
                    print(row(results[-1]), flush=True)
                except (RuntimeError, OSError, subprocess.SubprocessError) as e:
                    failures += 1
                    print(f"changes: {name} with {count} routes: {e}", file=sys.stderr)
    finally:
        for process in processes:
            process.terminate()
            process.wait()
        if args.out:
            Path(args.out).write_text(json.dumps(results))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
