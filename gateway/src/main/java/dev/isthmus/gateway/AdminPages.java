package dev.isthmus.gateway;

import dev.isthmus.gateway.admin.AdminAnswer;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.config.ConfigDocument;
import dev.isthmus.gateway.metrics.ProcessMetrics;
import dev.isthmus.gateway.reload.Reload;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** What every gateway answers to operators. */
final class AdminPages {
    private final Gateway gateway;
    private final ProcessMetrics metrics;

    AdminPages(Gateway gateway, ProcessMetrics metrics) {
        this.gateway = gateway;
        this.metrics = metrics;
    }

    void addTo(AdminRoutes routes) {
        routes.route("GET", "/metrics", request -> AdminAnswer.text(ProcessMetrics.CONTENT_TYPE, metrics.scrape()))
                .route("GET", "/live", request -> AdminAnswer.json(200, Map.of("live", true)))
                .route("GET", "/ready", request -> ready())
                .route("GET", "/config", request -> config())
                .route("POST", "/reload", this::reload);
    }

    private AdminAnswer ready() {
        return gateway.ready()
                ? AdminAnswer.json(200, Map.of("ready", true))
                : AdminAnswer.error(503, "the gateway is not ready: not every upstream is");
    }

    private AdminAnswer config() {
        Generation current = gateway.current();
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("generation", current.number());
        document.put("loaded_seconds_ago", TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - current.madeNanos()));
        document.put("config", ConfigDocument.of(current.config()));
        return AdminAnswer.json(200, document);
    }

    private AdminAnswer reload(AdminRequest request) {
        Map<String, Object> document = new LinkedHashMap<>();
        switch (gateway.reload()) {
            case Reload.Applied applied -> {
                document.put("generation", applied.generation());
                document.put("changes", applied.changes());
                document.put("warnings", applied.warnings());
                return AdminAnswer.json(200, document);
            }
            case Reload.Rejected rejected -> {
                document.put("error", "the configuration is refused, and the one before is still served");
                document.put("problems", rejected.problems());
                return AdminAnswer.json(rejected.invalid() ? 422 : 409, document);
            }
        }
    }
}
