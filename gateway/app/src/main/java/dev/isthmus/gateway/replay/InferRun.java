package dev.isthmus.gateway.replay;

import dev.isthmus.gateway.openapi.ExampleRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Sends one inference request a number of times, from as many virtual threads as requests are sent at a time. */
public final class InferRun {
    private static final long MAX_ELEMENTS = 1_000_000;

    private final InferSettings settings;
    private final ReplayClient client;
    private final InferReport report;
    private final AtomicInteger started = new AtomicInteger();

    private InferRun(InferSettings settings, ReplayClient client) {
        this.settings = settings;
        this.client = client;
        this.report = new InferReport(settings.count());
    }

    /**
     * An example request for a model, made from its metadata, as JSON.
     *
     * @throws IOException if the host has no address
     * @throws OipException if the server does not respond, or there is no example
     */
    public static String example(ServerConnection connection, ModelRef model) throws IOException, InterruptedException {
        try (ReplayClient client = new ReplayClient(connection)) {
            client.connect();
            ExampleRequest example = ExampleRequest.of(client.metadata(model), MAX_ELEMENTS);
            return example.document()
                    .map(Object::toString)
                    .orElseThrow(() -> OipException.invalid("there is no example: " + example.obstacle()));
        }
    }

    /**
     * Sends everything. Blocks until the last response.
     *
     * @throws IOException if the host has no address
     * @throws OipException if the server does not respond to a request for its metadata
     */
    public static InferReport of(InferSettings settings) throws IOException, InterruptedException {
        try (ReplayClient client = new ReplayClient(settings.connection())) {
            client.connect();
            InferRun run = new InferRun(settings, client);
            long from = System.nanoTime();
            run.sendAll();
            run.report.ended(System.nanoTime() - from);
            return run.report;
        }
    }

    private void sendAll() throws InterruptedException {
        List<Thread> senders = new ArrayList<>();
        for (int i = 0; i < Math.min(settings.count(), settings.connection().concurrency()); i++) {
            senders.add(Thread.ofVirtual().start(this::send));
        }
        for (Thread sender : senders) {
            sender.join();
        }
    }

    private void send() {
        try {
            while (started.getAndIncrement() < settings.count()) {
                exchange();
            }
        } catch (InterruptedException never) {
            Thread.currentThread().interrupt();
        }
    }

    private void exchange() throws InterruptedException {
        long from = System.nanoTime();
        InferResponse response;
        try {
            response = client.infer(settings.decoded(), settings.model());
        } catch (OipException failure) {
            report.failed(failure);
            return;
        }
        report.answered(response, System.nanoTime() - from);
    }
}
