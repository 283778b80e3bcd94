package dev.isthmus.bench.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.bench.process.Child;
import dev.isthmus.bench.process.Children;
import dev.isthmus.gateway.net.Transport;
import io.grpc.Status;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StubServerTest {
    private static final Duration LIMIT = Duration.ofSeconds(30);

    @TempDir
    private Path folder = Path.of("");

    private final EventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
    private final BlockingQueue<Outcome> outcomes = new LinkedBlockingQueue<>();

    @AfterEach
    void close() {
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
    }

    @Test
    void requests_areCountedByModel() throws Exception {
        try (StubServer stub = new StubServer("one", folder, 0, 0);
                Client client = client(stub.port())) {
            for (int id = 0; id < 100; id++) {
                client.send(new Request(id, id % 10 == 0 ? "canary" : "stable"), outcomes::add);
            }
            for (int id = 0; id < 100; id++) {
                assertThat(next()).isEqualTo(Outcome.OK);
            }
        }
        assertThat(ledgers().ofModel("stable")).isEqualTo(new Ledgers.Counted(90, 90));
        assertThat(ledgers().ofModel("canary")).isEqualTo(new Ledgers.Counted(10, 10));
        assertThat(ledgers().duplicates()).isZero();
    }

    @Test
    void stub_toldToFail_countsAndAnswersUnavailable() throws Exception {
        try (StubServer stub = new StubServer("one", folder, 0, 0);
                Client client = client(stub.port())) {
            stub.service().failing(true);
            client.send(new Request(1, Request.MODEL), outcomes::add);
            assertThat(next()).isEqualTo(Outcome.status(Status.Code.UNAVAILABLE.name()));
        }
        assertThat(ledgers().all()).isEqualTo(new Ledgers.Counted(1, 1));
    }

    @Test
    void process_thatIsKilled_leavesWhatItCounted() throws Exception {
        try (Children children = new Children()) {
            Child stub = start(children);
            int port = Integer.parseInt(stub.await(StubServer.LISTENING, LIMIT));
            try (Client client = client(port)) {
                client.send(new Request(1, Request.MODEL), outcomes::add);
                await().atMost(LIMIT).until(() -> ledgers().of("one").arrivals() == 1);
                children.kill(stub);
                assertThat(next()).isEqualTo(Outcome.RESET);
            }
            assertThat(stub.alive()).isFalse();
        }
        assertThat(ledgers().of("one").inFlight()).isEqualTo(1);
    }

    @Test
    void process_takesOrdersAndSignals() throws Exception {
        try (Children children = new Children()) {
            Child stub = start(children);
            stub.await(StubServer.LISTENING, LIMIT);
            stub.signal("STOP");
            stub.tell(StubServer.FAIL);
            stub.signal("CONT");
            assertThat(stub.await(StubServer.FAIL, LIMIT)).isEmpty();
        }
    }

    /** A stub with a service time of one hour. */
    private Child start(Children children) throws Exception {
        return children.java(
                "one",
                List.of("-Xmx64m", "-XX:TieredStopAtLevel=1"),
                System.getProperty("java.class.path"),
                StubServer.class.getName(),
                List.of("one", folder.toString(), "0", Long.toString(TimeUnit.HOURS.toMicros(1)), "127.0.0.1"));
    }

    private Client client(int port) {
        return new GrpcClient(loops.next(), List.of(port), LIMIT.toMillis(), null);
    }

    private Outcome next() throws InterruptedException {
        Outcome next = outcomes.poll(LIMIT.toSeconds(), TimeUnit.SECONDS);
        if (next == null) {
            throw new AssertionError("nothing came");
        }
        return next;
    }

    private Ledgers ledgers() {
        return new Ledgers(folder);
    }
}
