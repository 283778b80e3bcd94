package dev.isthmus.gateway.diagnosis;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.oip.ModelRef;
import java.util.Locale;

/**
 * Which calls a view has.
 *
 * @param model part of a name of the model: as the client, the configuration or the server has it; empty for all
 * @param server part of the upstream's name or the server's address; empty for all
 * @param failed only calls that failed
 * @param slowerNanos only calls that took longer
 */
record CallFilter(String model, String server, boolean failed, long slowerNanos) {

    CallFilter {
        model = model.toLowerCase(Locale.ROOT);
        server = server.toLowerCase(Locale.ROOT);
    }

    boolean matches(CallContext call) {
        return (!failed || call.code() != null)
                && call.totalNanos() >= slowerNanos
                && (model.isEmpty() || matchesModel(call))
                && (server.isEmpty() || has(call.upstream(), server) || has(call.server(), server));
    }

    private boolean matchesModel(CallContext call) {
        Operation operation = call.operation();
        ModelRef requested = operation == null ? null : operation.requestedModel();
        ModelRef served = call.served();
        return has(call.route(), model)
                || (requested != null && has(requested.name(), model))
                || (served != null && has(served.name(), model));
    }

    private static boolean has(String text, String part) {
        return text.toLowerCase(Locale.ROOT).contains(part);
    }
}
