package dev.isthmus.bench.local;

import static dev.isthmus.bench.local.Latency.brief;

import dev.isthmus.local.LocalBackend;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/** Compares the local backend with Python, each in its own process and in turn in every round. */
final class InProcessComparison {
    private static final int CALLERS = 8;
    private static final int CLIENTS = 32;
    private static final double WARM_SECONDS = 4;
    private static final int HEAP_TIMES = 20_000;
    private static final double MOST_LATENCY = 1.1;
    private static final double LEAST_THROUGHPUT = 1.3;
    private static final double LEAST_BATCHING = 1.8;
    private static final double MOST_OVERHEAD = 20;
    private static final int MOST_HEAP = 2_048;

    private final Rounds rounds;
    private final Repository models;
    private final Repository batching;
    private final Python python;
    private final Table table;

    InProcessComparison(Rounds rounds, Repository models, Repository batching, Python python, Table table) {
        this.rounds = rounds;
        this.models = models;
        this.batching = batching;
        this.python = python;
        this.table = table;
    }

    void run() throws Exception {
        try (LocalBackend one = models.open(1)) {
            warm(one);
            for (Case testCase : Case.ALL) {
                latency(one, testCase);
            }
        }
        try (LocalBackend backend = models.open(Runtime.getRuntime().availableProcessors())) {
            throughput(backend);
            overhead(backend, Case.DIGITS);
            overhead(backend, Case.SILERO);
            batching(backend);
        }
    }

    /** Runs until JIT compilation has finished, so that it does not distort the first measurement. */
    private static void warm(LocalBackend one) throws Exception {
        for (Case testCase : List.of(Case.DIGITS, Case.SILERO, Case.MEBIBYTE)) {
            try (RepeatedRequest request = RepeatedRequest.of(one, testCase)) {
                new Burst(request).run(burst(testCase), WARM_SECONDS);
                Loop.perSecond(request, CALLERS, WARM_SECONDS);
            }
        }
    }

    private void latency(LocalBackend one, Case testCase) throws Exception {
        List<Latency> here = new ArrayList<>();
        List<Latency> there = new ArrayList<>();
        try (RepeatedRequest request = RepeatedRequest.of(one, testCase)) {
            rounds.run(
                    () -> here.add(new Burst(request).run(burst(testCase), rounds.seconds())),
                    () -> there.add(python.latency(testCase, rounds.seconds())));
        }
        Latency mine = Latency.median(rounds.counted(here));
        Latency theirs = Latency.median(rounds.counted(there));
        double ratio = mine.p50() / theirs.p50();
        table.goal(
                ratio <= MOST_LATENCY,
                testCase.model() + ", one thread, µs p50 / p99",
                mine.text(),
                theirs.text(),
                times(ratio),
                "p50 <= 1.1 x");
    }

    /** As many as take a part of the time. */
    private static int burst(Case testCase) {
        return testCase.equals(Case.MAGIKA) || testCase.equals(Case.CLASSIFIER) ? 32 : 512;
    }

    private void throughput(LocalBackend backend) throws Exception {
        List<Double> waiting = new ArrayList<>();
        List<Double> going = new ArrayList<>();
        List<Double> there = new ArrayList<>();
        try (RepeatedRequest request = RepeatedRequest.of(backend, Case.DIGITS)) {
            rounds.run(
                    () -> waiting.add(threads(request)),
                    () -> going.add(Loop.perSecond(request, CALLERS, rounds.seconds())),
                    () -> there.add(python.perSecond(Case.DIGITS, CALLERS, rounds.seconds())));
        }
        double theirs = rounds.median(there);
        throughput("digits, 8 in flight (event loops), /s", rounds.median(going), theirs);
        throughput("digits, 8 threads that wait, /s", rounds.median(waiting), theirs);
    }

    private void throughput(String measure, double mine, double theirs) {
        double ratio = mine / theirs;
        table.goal(ratio >= LEAST_THROUGHPUT, measure, brief(mine), brief(theirs), times(ratio), ">= 1.3 x");
    }

    private double threads(RepeatedRequest request) throws InterruptedException {
        long begun = System.nanoTime();
        long end = begun + Math.round(rounds.seconds() * 1e9);
        List<ClosedLoopClient> callers = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < CALLERS; i++) {
            ClosedLoopClient caller = new ClosedLoopClient(request);
            callers.add(caller);
            threads.add(Thread.ofPlatform().name("bench-caller-" + i).start(() -> caller.run(end)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        long responses =
                callers.stream().mapToLong(each -> each.nanos().getTotalCount()).sum();
        return responses / ((System.nanoTime() - begun) / 1e9);
    }

    private void overhead(LocalBackend backend, Case testCase) throws Exception {
        List<Latency> whole = new ArrayList<>();
        List<Latency> bare = new ArrayList<>();
        byte[] onnx = Files.readAllBytes(models.onnx(testCase.model()));
        try (RepeatedRequest request = RepeatedRequest.of(backend, testCase);
                RawSession raw = new RawSession(onnx, testCase)) {
            rounds.run(() -> whole.add(caller(request)), () -> bare.add(raw(raw)));
            Latency mine = Latency.median(rounds.counted(whole));
            Latency theirs = Latency.median(rounds.counted(bare));
            double above = mine.p50() - theirs.p50();
            table.goal(
                    above <= MOST_OVERHEAD,
                    testCase.model() + ", infer / OrtSession.run, µs p50 / p99",
                    mine.text(),
                    theirs.text(),
                    "+" + brief(above) + " µs",
                    "<= 20 µs");
            double heap = Heap.of(new ClosedLoopClient(request)::run, HEAP_TIMES);
            double least = Heap.of(times -> repeat(raw, times), HEAP_TIMES);
            table.goal(
                    heap <= MOST_HEAP,
                    testCase.model() + ", infer / OrtSession.run, heap bytes",
                    brief(heap),
                    brief(least),
                    String.format(Locale.ROOT, "%+,.0f", heap - least),
                    "<= 2,048");
        }
    }

    private static void repeat(RawSession raw, int times) throws Exception {
        for (int i = 0; i < times; i++) {
            raw.once();
        }
    }

    private Latency caller(RepeatedRequest request) {
        ClosedLoopClient caller = new ClosedLoopClient(request);
        caller.run(System.nanoTime() + Math.round(rounds.seconds() * 1e9));
        return Latency.of(caller.nanos());
    }

    private Latency raw(RawSession raw) throws Exception {
        Histogram nanos = Latency.histogram();
        raw.run(nanos, System.nanoTime() + Math.round(rounds.seconds() * 1e9));
        return Latency.of(nanos);
    }

    private void batching(LocalBackend backend) throws Exception {
        List<Double> with = new ArrayList<>();
        List<Double> without = new ArrayList<>();
        try (LocalBackend batched = batching.open(Runtime.getRuntime().availableProcessors());
                RepeatedRequest one = RepeatedRequest.of(backend, Case.DIGITS);
                RepeatedRequest many = RepeatedRequest.of(batched, Case.DIGITS)) {
            rounds.run(
                    () -> without.add(Loop.perSecond(one, CLIENTS, rounds.seconds())),
                    () -> with.add(Loop.perSecond(many, CLIENTS, rounds.seconds())));
        }
        double ratio = rounds.median(with) / rounds.median(without);
        table.goal(
                ratio >= LEAST_BATCHING,
                "digits, 32 clients, batched / not, /s",
                brief(rounds.median(with)),
                brief(rounds.median(without)),
                times(ratio),
                ">= 1.8 x");
    }

    private static String times(double ratio) {
        return String.format(Locale.ROOT, "%.2f x", ratio);
    }
}
