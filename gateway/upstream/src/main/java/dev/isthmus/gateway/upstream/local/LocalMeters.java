package dev.isthmus.gateway.upstream.local;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.local.LocalBackend;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.function.ToDoubleFunction;

/** The meters of the local backend. */
final class LocalMeters implements AutoCloseable {
    private final ReplaceableMeters meters;
    private final LocalBackend backend;

    LocalMeters(MeterRegistry registry, LocalBackend backend) {
        this.meters = new ReplaceableMeters(registry);
        this.backend = backend;
        gauge("queue", "Requests queued in the local backend", LocalBackend::queued);
        gauge(
                "queue.limit",
                "How many requests may be queued in the local backend (local.queue_size)",
                it -> it.settings().queueSize());
        gauge("threads.busy", "Threads of the local backend that run a model", LocalBackend::busyThreads);
        gauge(
                "threads.stuck",
                "Threads of the local backend whose run did not end although it was terminated",
                LocalBackend::stuckThreads);
        gauge(
                "loads.abandoned",
                "Loads of local models that did not end although they were terminated; each may use a core",
                LocalBackend::abandonedLoads);
        gauge("threads", "Threads of the local backend", it -> it.settings().threads());
    }

    private void gauge(String name, String what, ToDoubleFunction<LocalBackend> value) {
        meters.add(Gauge.builder("isthmus.local." + name, backend, value).description(what)::register);
    }

    @Override
    public void close() {
        meters.close();
    }
}
