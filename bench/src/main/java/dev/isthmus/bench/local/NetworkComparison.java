package dev.isthmus.bench.local;

import static dev.isthmus.bench.local.Latency.brief;

import dev.isthmus.bench.process.BenchException;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * Compares the gateway with MLServer, with the same models, in turn and over the network, by closed loops of clients.
 */
final class NetworkComparison {
    static final List<Case> CASES = List.of(Case.DIGITS, Case.CLASSIFIER);

    private static final int[] CLIENTS = {1, 8, 32};
    private static final int WARM_CLIENTS = 8;
    private static final int WARM_TIMES = 4;
    private static final int SLACK_SECONDS = 60;

    private final Rounds rounds;
    private final Server gateway;
    private final Server mlserver;
    private final EventLoop loop;
    private final Table table;

    NetworkComparison(Rounds rounds, Server gateway, Server mlserver, EventLoop loop, Table table) {
        this.rounds = rounds;
        this.gateway = gateway;
        this.mlserver = mlserver;
        this.loop = loop;
        this.table = table;
    }

    void run() throws Exception {
        for (Case testCase : CASES) {
            for (RequestEncoding encoding : RequestEncoding.values()) {
                warm(testCase, encoding);
                for (int clients : CLIENTS) {
                    measure(testCase, encoding, clients);
                }
            }
        }
    }

    /** Warms up both servers for longer than a measurement. */
    private void warm(Case testCase, RequestEncoding encoding) throws Exception {
        for (Server server : encoding == RequestEncoding.BINARY ? List.of(gateway) : List.of(gateway, mlserver)) {
            try (Crowd crowd = new Crowd(server, encoding, testCase, WARM_CLIENTS)) {
                crowd.group(WARM_TIMES * rounds.seconds());
            }
        }
    }

    private void measure(Case testCase, RequestEncoding encoding, int clients) throws Exception {
        List<LoopGroup.Figures> here = new ArrayList<>();
        List<LoopGroup.Figures> there = new ArrayList<>();
        String measure =
                testCase.model() + ", " + encoding.text() + ", " + clients + (clients == 1 ? " client" : " clients");
        if (encoding == RequestEncoding.BINARY) {
            // MLServer does not support the binary tensor data extension.
            try (Crowd mine = new Crowd(gateway, encoding, testCase, clients)) {
                rounds.run(() -> here.add(mine.group()));
            }
            table.row(measure, text(here), "", "", "");
            return;
        }
        try (Crowd mine = new Crowd(gateway, encoding, testCase, clients);
                Crowd theirs = new Crowd(mlserver, encoding, testCase, clients)) {
            rounds.run(() -> here.add(mine.group()), () -> there.add(theirs.group()));
            if (!mine.last().same(theirs.last())) {
                throw new BenchException(measure + ": " + mine.last() + " is not " + theirs.last());
            }
        }
        double rate = rate(here) / rate(there);
        double tail = latency(here).p99() / latency(there).p99();
        table.goal(
                rate > 1 && tail < 1,
                measure,
                text(here),
                text(there),
                String.format(Locale.ROOT, "%.1f x, %.2f x", rate, tail),
                "> 1 x, < 1 x");
    }

    private String text(List<LoopGroup.Figures> figures) {
        Latency micros = latency(figures);
        return brief(rate(figures)) + " /s, " + new Latency(micros.p50() / 1_000, micros.p99() / 1_000).text();
    }

    private double rate(List<LoopGroup.Figures> figures) {
        return Latency.median(rounds.counted(figures), LoopGroup.Figures::perSecond);
    }

    private Latency latency(List<LoopGroup.Figures> figures) {
        return Latency.median(
                rounds.counted(figures).stream().map(LoopGroup.Figures::latency).toList());
    }

    /** The clients of one server. */
    private final class Crowd implements AutoCloseable {
        private final List<WireClient> clients = new ArrayList<>();

        Crowd(Server server, RequestEncoding encoding, Case testCase, int count) {
            for (int i = 0; i < count; i++) {
                clients.add(
                        encoding == RequestEncoding.GRPC
                                ? GrpcWire.connect(loop, server.grpcPort(), testCase)
                                : RestWire.connect(loop, server.httpPort(), encoding, testCase));
            }
        }

        LoopGroup.Figures group() throws Exception {
            return group(rounds.seconds());
        }

        LoopGroup.Figures group(double seconds) throws Exception {
            LoopGroup group = new LoopGroup(clients.size(), seconds);
            clients.forEach(client -> client.start(group));
            return group.ended().get(SLACK_SECONDS, TimeUnit.SECONDS);
        }

        ServerResponse last() {
            return clients.getFirst().last();
        }

        @Override
        public void close() {
            clients.forEach(WireClient::close);
        }
    }
}
