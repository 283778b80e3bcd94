package dev.isthmus.gateway.replay;

import dev.isthmus.gateway.replay.RecordedEvent.BadLineException;
import dev.isthmus.gateway.replay.ReplayClient.ServerConnection;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.compare.FloatTolerance;
import dev.isthmus.transcoder.compare.OutputComparison;
import dev.isthmus.transcoder.compare.TensorComparison;
import dev.isthmus.transcoder.rest.RestRequest;
import io.netty.buffer.ByteBufAllocator;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Reads a file of events and sends its requests again; each in a virtual thread, of which a few run at a time. */
public final class ReplayRun {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    /** Requests whose recorded response was not read yet; the oldest of more are sent without comparison. */
    private static final int MAX_PENDING = 1000;

    private final ReplaySettings settings;
    private final ReplayReport report;
    private final SequencedMap<String, RecordedEvent> pending = new LinkedHashMap<>();
    private long startNanos;
    private long sent;

    /** How many bytes of the file were read. */
    private long position;

    private ReplayRun(ReplaySettings settings) {
        this.settings = settings;
        this.report = new ReplayReport(settings);
    }

    /**
     * Sends everything that the file has now: the server may write these requests into the same file. Blocks until the
     * last response.
     *
     * @throws IOException if the file cannot be read, or the host has no address
     * @throws OipException if the server does not respond
     */
    public static ReplayReport of(ReplaySettings settings) throws IOException, InterruptedException {
        ReplayRun run = new ReplayRun(settings);
        // A pipe has no length, and nobody appends to what was read of it.
        boolean regular = Files.isRegularFile(settings.file());
        long length = regular ? Files.size(settings.file()) : Long.MAX_VALUE;
        try (InputStream in = new BufferedInputStream(Files.newInputStream(settings.file()));
                ReplayClient client = new ReplayClient(settings.connection(), null)) {
            client.connect();
            run.startNanos = System.nanoTime();
            run.readAll(in, length, client);
            client.await();
            run.report.ended(System.nanoTime() - run.startNanos);
            if (regular && Files.size(settings.file()) > run.position) {
                run.report.grew(run.position);
            }
        }
        return run.report;
    }

    /** @param length a line that begins behind it is not read */
    private void readAll(InputStream in, long length, ReplayClient client) throws IOException, InterruptedException {
        long number = 1;
        for (byte[] line = line(in); line != null; line = position < length ? line(in) : null) {
            if (line.length > 0) {
                try {
                    event(RecordedEvent.parse(number, line), client);
                } catch (BadLineException e) {
                    report.badLine(number, String.valueOf(e.getMessage()));
                }
            }
            number++;
        }
        for (RecordedEvent left : pending.values()) {
            send(left, null, client);
        }
    }

    /** The next line; null at the end of the file. */
    private byte @Nullable [] line(InputStream in) throws IOException {
        int next = in.read();
        if (next < 0) {
            return null;
        }
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (; next >= 0 && next != '\n'; next = in.read()) {
            line.write(next);
        }
        position += line.size() + (next < 0 ? 0 : 1);
        return line.toByteArray();
    }

    private void event(RecordedEvent event, ReplayClient client) throws InterruptedException {
        if (event.isRequest() && !event.complete()) {
            report.skipped();
        } else if (event.isRequest() && (!settings.compare() || event.inStream())) {
            send(event, null, client);
        } else if (event.isRequest()) {
            RecordedEvent before = pending.put(event.id(), event);
            if (before != null) {
                send(before, null, client);
            } else if (pending.size() > MAX_PENDING) {
                send(Objects.requireNonNull(pending.pollFirstEntry()).getValue(), null, client);
            }
        } else {
            RecordedEvent request = pending.remove(event.id());
            if (request != null) {
                send(request, event, client);
            }
        }
    }

    /** @param expected the recorded response; null to compare nothing */
    private void send(RecordedEvent event, @Nullable RecordedEvent expected, ReplayClient client)
            throws InterruptedException {
        awaitTurn();
        client.start(() -> exchange(event, expected, client));
    }

    private void awaitTurn() {
        if (settings.rate() > 0) {
            long due = startNanos + (long) (sent * (TimeUnit.SECONDS.toNanos(1) / settings.rate()));
            for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
        }
        sent++;
    }

    private void exchange(RecordedEvent event, @Nullable RecordedEvent expected, ReplayClient client) {
        RestRequest request;
        try {
            request = event.request();
        } catch (OipException invalid) {
            report.badLine(event.line(), "a valid request is expected: " + invalid.message());
            return;
        }
        long from = System.nanoTime();
        InferResponse response;
        try {
            response = client.infer(request, settings.model(event.model()));
        } catch (OipException failure) {
            boolean again =
                    expected != null && expected.code().equals(failure.code().name());
            report.failed(event, failure, again, System.nanoTime() - from);
            return;
        } catch (InterruptedException never) {
            Thread.currentThread().interrupt();
            return;
        }
        report.answered(System.nanoTime() - from);
        try {
            if (expected != null && expected.comparable()) {
                compare(event, expected, response);
            }
        } finally {
            response.release();
        }
    }

    private void compare(RecordedEvent event, RecordedEvent expected, InferResponse response) {
        InferResponse recorded;
        try {
            recorded = expected.response(ALLOCATOR);
        } catch (OipException invalid) {
            report.badLine(expected.line(), "a valid response is expected: " + invalid.message());
            return;
        }
        try {
            List<OutputComparison> outputs = TensorComparison.of(recorded, response);
            report.compared(
                    event, expected, outputs, output -> settings.tolerance().accepts(output, recorded, response));
        } finally {
            recorded.release();
        }
    }

    /**
     * What is sent where.
     *
     * @param file of the payload log
     * @param models the models to request instead of recorded ones, by recorded name
     * @param compare whether responses are compared with the recorded ones
     * @param tolerance of the comparison
     * @param rate requests per second; 0 for as many as the connection allows at a time
     */
    public record ReplaySettings(
            Path file,
            ServerConnection connection,
            Map<String, ModelRef> models,
            boolean compare,
            FloatTolerance tolerance,
            double rate) {

        public ReplaySettings {
            models = Map.copyOf(models);
        }

        /** The model to request for a recorded one; its version is the recorded one unless the other has one. */
        ModelRef model(ModelRef recorded) {
            return models.getOrDefault(recorded.name(), recorded);
        }
    }
}
