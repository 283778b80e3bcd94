package dev.isthmus.bench.faults;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.bench.RawMethods;
import dev.isthmus.bench.StubMethods;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.ServerCall;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * A V2 server for any model. It responds to inference requests after a fixed time and records them in its ledgers. Runs
 * on one event loop. Only requests with a numeric id are counted; others serve as warm-up.
 */
final class StubService {
    /** How many times as long a slow server takes. */
    static final int SLOW_FACTOR = 20;

    private static final int MAX_MODELS = 64;

    private final String name;
    private final Path folder;
    private final long serviceMicros;
    private final ScheduledExecutorService loop;
    private final Map<String, Ledger> ledgers = new HashMap<>();
    private volatile boolean failing;
    private volatile boolean slow;

    StubService(String name, Path folder, long serviceMicros, ScheduledExecutorService loop) {
        this.name = name;
        this.folder = folder;
        this.serviceMicros = serviceMicros;
        this.loop = loop;
    }

    /** Sets whether inference fails with UNAVAILABLE; health checks still succeed. Thread-safe. */
    void failing(boolean on) {
        failing = on;
    }

    /** Sets whether inference takes {@link #SLOW_FACTOR} times as long. Thread-safe. */
    void slow(boolean on) {
        slow = on;
    }

    ServerServiceDefinition definition() {
        return new StubMethods(name, "model_repository")
                .models(List.of(Request.MODEL))
                .handle("ModelInfer", this::infer)
                .service(method -> {})
                .build();
    }

    private void infer(ServerCall<byte[], byte[]> call, byte[] message) throws InvalidProtocolBufferException {
        ModelInferRequest request = ModelInferRequest.parseFrom(message);
        Ledger ledger = ledger(request.getModelName());
        boolean counted = ledger.arrived(Request.number(request.getId()));
        if (failing) {
            end(ledger, counted);
            StubMethods.close(call, Status.UNAVAILABLE.withDescription("this stub was told to fail"));
            return;
        }
        loop.schedule(
                () -> {
                    end(ledger, counted);
                    StubMethods.send(
                            call, RawMethods.response(request.getModelName(), request.getId(), new byte[16], 1L, 4L));
                },
                slow ? serviceMicros * SLOW_FACTOR : serviceMicros,
                TimeUnit.MICROSECONDS);
    }

    private static void end(Ledger ledger, boolean counted) {
        if (counted) {
            ledger.completed();
        }
    }

    private Ledger ledger(String model) {
        Ledger known = ledgers.get(model);
        if (known != null) {
            return known;
        }
        if (ledgers.size() == MAX_MODELS) {
            throw new IllegalStateException(
                    "model '" + model + "' exceeds the limit of " + MAX_MODELS + " counted models");
        }
        try {
            Ledger opened = Ledger.open(Ledgers.file(folder, name, model.replaceAll("[^0-9A-Za-z-]", "-")));
            ledgers.put(model, opened);
            return opened;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
