package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.access.AccessDecision;
import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.identity.Authenticator;
import dev.isthmus.gateway.metrics.AccessMetrics;
import dev.isthmus.gateway.settings.AuthenticationConfig.HealthProbes;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Who may send what.
 *
 * @param authenticator null if callers are not identified
 * @param openListeners listeners whose requests need no credential
 * @param metrics counts refusals
 */
public record CallerAccess(
        @Nullable Authenticator authenticator, Set<String> openListeners, AccessPolicy policy, AccessMetrics metrics) {
    public CallerAccess {
        openListeners = Set.copyOf(openListeners);
    }

    /** The access of a configuration. */
    public static CallerAccess of(GatewayConfig config, @Nullable Authenticator authenticator, AccessMetrics metrics) {
        Set<String> open = config.listeners().stream()
                .filter(Listener::isOpen)
                .map(Listener::label)
                .collect(Collectors.toSet());
        return new CallerAccess(authenticator, open, AccessPolicy.of(config), metrics);
    }

    /** Identifies callers; null if they are not identified. */
    @Nullable
    Layer authentication() {
        return authenticator == null
                ? null
                : new Authentication(
                        authenticator,
                        openListeners,
                        openHealth(),
                        authenticator.config().forward().principalHeader());
    }

    /** Judges calls. */
    Layer authorization() {
        return new Authorization(policy, metrics, openHealth());
    }

    /** Whether probes of the server are not judged. */
    private boolean openHealth() {
        return authenticator == null || authenticator.config().health() == HealthProbes.OPEN;
    }

    /**
     * The layer that identifies the caller, once for each request and again for each message of a stream, and tells upstream
     * servers who it is.
     */
    private record Authentication(
            Authenticator authenticator, Set<String> openListeners, boolean openHealth, String principalHeader)
            implements Layer {
        @Override
        public String name() {
            return "authentication";
        }

        @Override
        public void head(CallContext call, Permission permission) {
            if (permission != Permission.HEALTH) {
                identify(call);
            }
        }

        @Override
        public @Nullable CompletableFuture<?> open(Exchange exchange) {
            if (exchange.stream() == null
                    && !(openHealth && exchange.call().operation().probe())) {
                identify(exchange.context());
                exchange.call(named(exchange.call(), exchange.context().principal()));
            }
            return null;
        }

        /** The caller of a stream is identified again for each message: keys are removed, and tokens expire. */
        @Override
        public void data(Exchange exchange, ByteBuf part) {
            if (exchange.call().operation() instanceof Operation.InferStream) {
                authenticator.identify(exchange.context(), required(exchange.context()));
            }
        }

        private void identify(CallContext context) {
            if (!context.isAuthenticated()) {
                authenticator.identify(context, required(context));
            }
        }

        private boolean required(CallContext context) {
            return !openListeners.contains(context.listener());
        }

        /** The call with the caller's name in its headers; a client's own value was removed with its other headers. */
        private Call named(Call call, Principal principal) {
            return principal.name().isEmpty() ? call : call.withHeader(principalHeader, encoded(principal.name()));
        }

        /** The name with everything but printable ASCII, and %, percent-encoded. */
        static String encoded(String name) {
            for (int i = 0; i < name.length(); i++) {
                if (!plain(name.charAt(i))) {
                    return escaped(name);
                }
            }
            return name;
        }

        private static boolean plain(int c) {
            return c > ' ' && c < 0x7f && c != '%';
        }

        private static String escaped(String name) {
            StringBuilder text = new StringBuilder();
            for (byte each : name.getBytes(StandardCharsets.UTF_8)) {
                if (plain(each)) {
                    text.append((char) each);
                } else {
                    text.append('%').append(String.format("%02X", each & 0xff));
                }
            }
            return text.toString();
        }
    }

    /** The layer that refuses what the caller may not do, by the parsed operation: the same for both protocols. */
    private record Authorization(AccessPolicy policy, AccessMetrics metrics, boolean openHealth) implements Layer {
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
}
