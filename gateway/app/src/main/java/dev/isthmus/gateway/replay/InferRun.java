package dev.isthmus.gateway.replay;

import dev.isthmus.gateway.openapi.ExampleRequest;
import dev.isthmus.gateway.replay.ReplayClient.ServerConnection;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Sends one inference request a number of times, each in a virtual thread, of which a few run at a time. */
public final class InferRun {
    private static final long MAX_ELEMENTS = 1_000_000;

    private InferRun() {}

    /**
     * One inference request that is sent a number of times.
     *
     * @param request its body, as JSON
     * @param count how often it is sent
     */
    public record InferSettings(ServerConnection connection, ModelRef model, String request, int count) {

        /** Throws an {@link dev.isthmus.oip.OipException} INVALID_ARGUMENT if the request is not valid. */
        public void check() {
            decoded().request().release();
        }

        /** The decoded request, owned by the caller. */
        RestRequest decoded() {
            return ReplayClient.decoded(
                    model,
                    Unpooled.wrappedBuffer(request.getBytes(StandardCharsets.UTF_8)),
                    RestBody.ALL_JSON,
                    RecordedEvent.LIMITS);
        }
    }

    /**
     * An example request for a model, made from its metadata, as JSON.
     *
     * @throws IOException if the host has no address
     * @throws OipException if the server does not respond, or there is no example
     */
    public static String example(ServerConnection connection, ModelRef model) throws IOException, InterruptedException {
        try (ReplayClient client = new ReplayClient(connection, null)) {
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
        try (ReplayClient client = new ReplayClient(settings.connection(), null)) {
            client.connect();
            InferReport report = new InferReport(settings.count());
            long from = System.nanoTime();
            for (int i = 0; i < settings.count(); i++) {
                client.start(() -> exchange(settings, client, report));
            }
            client.await();
            report.ended(System.nanoTime() - from);
            return report;
        }
    }

    private static void exchange(InferSettings settings, ReplayClient client, InferReport report) {
        long from = System.nanoTime();
        try {
            InferResponse response = client.infer(settings.decoded(), settings.model());
            report.answered(response, System.nanoTime() - from);
        } catch (OipException failure) {
            report.failed(failure);
        } catch (InterruptedException never) {
            Thread.currentThread().interrupt();
        }
    }
}
