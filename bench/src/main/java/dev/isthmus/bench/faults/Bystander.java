package dev.isthmus.bench.faults;

import io.netty.channel.EventLoop;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** An open loop of 200 small inference requests per second, alternating gRPC and REST, on its own connections. */
final class Bystander implements AutoCloseable {
    static final int RATE = 200;
    private static final int LIMIT_MILLIS = 10_000;
    /** Requests of one part of the schedule; the load may end between parts. */
    private static final int PART = RATE / 4;

    private final Client grpc;
    private final Client rest;

    Bystander(EventLoop loop, int port, int http2Port) {
        grpc = ClientProtocol.GRPC.client(loop, List.of(http2Port), LIMIT_MILLIS);
        rest = ClientProtocol.REST.client(loop, List.of(port), LIMIT_MILLIS);
    }

    /** Runs for at least this long and until {@code over}; returns the results of the requests. */
    Tally run(int millis, BooleanSupplier over) throws InterruptedException {
        Tally tally = new Tally();
        Load load = new Load(new Turns(), tally, System::nanoTime, false);
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        do {
            new OpenLoop(RATE, PART, System::nanoTime, LockSupport::parkNanos).run(load::arrive);
        } while (System.nanoTime() < end || !over.getAsBoolean());
        load.drain();
        return tally;
    }

    private final class Turns implements Client {
        private boolean first;

        @Override
        public void send(Request request, Ended ended) {
            first = !first;
            (first ? grpc : rest).send(request, ended);
        }

        @Override
        public void close() {
            throw new UnsupportedOperationException("its clients are closed by the bystander");
        }
    }

    @Override
    public void close() {
        grpc.close();
        rest.close();
    }
}
