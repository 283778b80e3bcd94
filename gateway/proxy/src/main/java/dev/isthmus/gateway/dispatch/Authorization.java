package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.access.AccessDecision;
import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.metrics.AccessMetrics;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The layer that refuses what the caller may not do, by the parsed operation: the same for both protocols. */
final class Authorization implements Layer {
    private final AccessPolicy policy;
    private final AccessMetrics metrics;
    private final boolean openHealth;

    /**
     * @param metrics counts refusals
     * @param openHealth whether probes of the server are not judged
     */
    Authorization(AccessPolicy policy, AccessMetrics metrics, boolean openHealth) {
        this.policy = policy;
        this.metrics = metrics;
        this.openHealth = openHealth;
    }

    @Override
    public String name() {
        return "authorization";
    }

    @Override
    public void head(CallContext call, Permission permission) {
        if (permission != Permission.HEALTH) {
            require(policy.onSomething(call, permission), permission);
        }
    }

    @Override
    public @Nullable CompletableFuture<?> open(Exchange exchange) {
        Operation operation = exchange.call().operation();
        if (!openHealth || !operation.probe()) {
            ModelRef model = operation.requestedModel();
            Permission permission = operation.permission();
            require(
                    model == null
                            ? policy.onServer(exchange.context(), permission)
                            : policy.onModel(exchange.context(), permission, model),
                    permission);
        }
        return null;
    }

    private void require(AccessDecision decision, Permission permission) {
        if (!decision.allowed()) {
            boolean unserved = policy.showsAllModels();
            metrics.refused(unserved ? "management" : "no_rule");
            throw new OipException(
                    ErrorCode.PERMISSION_DENIED,
                    unserved
                            ? "management operations (" + permission.label() + ") are not served on this address"
                            : "permission '" + permission.label() + "' is required");
        }
    }
}
