#!/usr/bin/env python3
"""Small calls alone and beside images of 1.6 MB as JSON (over gRPC 0.6 MB). bench/mixed runs it.

Both are sent at fixed rates and measured from the time at which a request was due, so that a slow response also counts for those that
it delays. All proxies are alive at once, on one core, the stub and the load on another, and have their turns in each round. Nothing is
sent before the first round, so that it is what users see in the first minute after a start. Each turn is measured alone and beside
images. The last columns are shares of what HAProxy needs beside the same bytes in the same round, and the turns of event loops during
the images, of the metrics.
"""
import concurrent.futures
import contextlib
import json
import random
import re
import statistics
import sys
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
import peers  # noqa: E402

# row -> (target, role of the small calls, role of the images, the row with the same bytes)
ROWS = {
    "JSON to gRPC": ("isthmus", "transcode", "transcode", "HAProxy, REST"),
    "REST to REST": ("isthmus-rest", "rest", "rest", "HAProxy, REST"),
    "gRPC to gRPC": ("isthmus", "grpc", "grpc", "HAProxy, gRPC"),
    "gRPC beside JSON to gRPC": ("isthmus", "grpc", "transcode", "HAProxy, gRPC"),
    "HAProxy, REST": ("haproxy", "rest", "rest", None),
    "HAProxy, gRPC": ("haproxy", "grpc", "grpc", None),
}
SHARES = (0.5, 0.99, 0.999)
GOALS = {0.99: 1.2, 0.999: 1.5}
CONNECTIONS = {"s": 8, "m9": 4}
ADMIN = 21900
LONGEST = 0.0003  # seconds: no turn of an event loop should take longer


class Mixed(peers.Bench):
    def __init__(self, args):
        super().__init__(args)
        self.rows = {name: row for name, row in ROWS.items() if not args.rows or name in args.rows}
        if args.before:
            self.rows |= {f"before, {name}": (row[0].replace("isthmus", "before"), *row[1:]) for name, row in self.rows.items() if row[3]}
        self.admin = {}
        for name in {row[0] for row in self.rows.values()} - {"haproxy"}:
            self.add_admin(name)

    def add_admin(self, name):
        """Has a target show its metrics on a port of its own."""
        target = self.targets[name]
        file = self.run_dir / f"{name}-mixed.yaml"
        self.admin[name] = ADMIN + len(self.admin)
        file.write_text((peers.HERE / "conf" / target["render"][0]).read_text() + f"admin: {{ port: {self.admin[name]} }}\n")
        self.targets[name] = dict(target, render=[str(file)], command=[target["command"][0], "serve", "--config", str(file)])

    def turns(self, name):
        """The numbers of turns of the target's event loops by their upper bound in seconds; none if it does not count them."""
        if name not in self.admin:
            return {}
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin[name]}/metrics", timeout=20) as response:
            text = response.read().decode()
        return {float(bound): float(count) for bound, count in re.findall(r'isthmus_event_loop_turn_seconds_bucket\{le="([^"]+)"\} (\S+)', text)}

    def measure(self, name, role, workload, rate):
        """Latencies in microseconds, sorted."""
        _, values, bad = self.pace(self.targets[name], role, workload, 0, rate, CONNECTIONS[workload])
        if bad or not values:
            sys.exit(f"mixed: {name} {role} {workload}: {bad} bad responses of {len(values)}")
        return sorted(values)

    def turn(self, row):
        """One row of one round."""
        name, small, large, _ = self.rows[row]
        alone = self.measure(name, small, "s", self.args.small)
        before = self.turns(name)
        with concurrent.futures.ThreadPoolExecutor() as threads:
            images = threads.submit(self.measure, name, large, "m9", self.args.images)
            beside = self.measure(name, small, "s", self.args.small)
            images = images.result()
        turns = {bound: count - before.get(bound, 0) for bound, count in self.turns(name).items()}
        return {"alone": quantiles(alone), "beside": quantiles(beside), "images": quantiles(images), "turns": turns}

    def measured(self):
        """The turns of all rounds by row."""
        order = random.Random(1)
        results = {row: [] for row in self.rows}
        stub = self.start_stub()
        try:
            with contextlib.ExitStack() as alive:
                for name in dict.fromkeys(row[0] for row in self.rows.values()):
                    alive.enter_context(self.started(name))
                    if self.targets[name].get("ready"):
                        peers.wait_ready(peers.ports_of(self.targets[name])[0], self.targets[name]["ready"])
                begin = time.time()
                for each in range(self.args.rounds):
                    print(f"-- round {each + 1} of {self.args.rounds}, after {time.time() - begin:.0f} s", file=sys.stderr, flush=True)
                    for row in order.sample(list(self.rows), len(self.rows)):
                        results[row].append(self.turn(row))
                    Path(self.args.out).write_text(json.dumps(results))
        finally:
            stub.terminate()
            stub.wait()
        return results


def quantiles(values):
    return [peers.percentile(values, share) for share in SHARES]


def figures(rounds, of):
    """The medians of the rounds, in ms."""
    return ", ".join(f"{statistics.median(each[of][i] for each in rounds) / 1000:.2f}" for i in range(len(SHARES)))


def shares(rounds, others):
    """For p99 and p99.9 beside images: the median share of the other's, its range, and that of the first round."""
    cells = []
    for i, share in enumerate(SHARES):
        if share in GOALS:
            of = [own["beside"][i] / other["beside"][i] for own, other in zip(rounds, others, strict=True)]
            cells.append(f"{statistics.median(of):.2f} ({min(of):.2f} to {max(of):.2f}; first {of[0]:.2f})")
    return cells


def long_turns(rounds):
    """How many turns were longer than they should be while there were images, and a bound of the longest one."""
    total = {}
    for each in rounds:
        for bound, count in each["turns"].items():
            total[bound] = total.get(bound, 0) + count
    if not total:
        return ""
    count = max(total.values())
    longest = min(bound for bound, within in total.items() if within == count)
    return f"{100 * (count - total[LONGEST]) / count:.2f} %; {longest * 1000:g} ms"


def report(results, rows, args):
    lines = [f"{args.small} small calls a second, {args.images} images a second; p50, p99 and p99.9 of small calls in ms, medians of {args.rounds} rounds.\n",
             f"| row | alone | beside images | first round | images | p99, share (goal {GOALS[0.99]}) | p99.9 (goal {GOALS[0.999]}) | turns above {LONGEST * 1e6:.0f} µs; longest |",
             "|---|---|---|---|---|---|---|---|"]
    for row, rounds in results.items():
        other = rows[row][3]
        cells = shares(rounds, results[other]) if other in results else [""] * len(GOALS)
        lines.append(f"| {row} | {figures(rounds, 'alone')} | {figures(rounds, 'beside')} | {figures(rounds[:1], 'beside')} | {figures(rounds, 'images')} | "
                     + " | ".join(cells) + f" | {long_turns(rounds)} |")
    return "\n".join(lines)


def main():
    parser = peers.options(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=6, help="of each measurement")
    parser.add_argument("--small", type=int, default=1000, help="small calls a second")
    parser.add_argument("--images", type=int, default=40, help="images a second")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS))
    args = parser.parse_args()
    args.lat = args.seconds
    bench = Mixed(args)
    results = bench.measured()
    print(report(results, bench.rows, args))


if __name__ == "__main__":
    main()
