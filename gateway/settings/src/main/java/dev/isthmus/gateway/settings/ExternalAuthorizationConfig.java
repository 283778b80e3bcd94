package dev.isthmus.gateway.settings;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

@Doc("A service that is asked whether a call is allowed, over gRPC with Envoy's ext_authz "
        + "(envoy.service.auth.v3.Authorization), as Open Policy Agent and Authorino speak it: after 'authentication' and "
        + "'access', for everything but liveness and readiness of the server.")
public record ExternalAuthorizationConfig(
        @Doc("host:port of the service. All addresses that the names have are asked in turn.") @Required @NotEmpty
        List<Endpoint> endpoints,

        @Doc("TLS to the service. Without this section connections are plain text.") @Nullable
        UpstreamTls tls,

        @Doc("Time for an answer, at most 10s.") @Default("200ms")
        Duration timeout,

        @Doc("What happens to a call about which there is no answer: deny, it is refused with 503; allow, it goes on.")
        @Default("deny")
        OnFailure onFailure,

        @Doc("Request headers that the service gets, beside method, path and host.") @HeaderName
        List<String> headers,

        @Doc("How long an answer holds for equal questions if it does not say so itself, at most 1h. Default: for one "
                + "call.")
        @Nullable
        Duration cache,

        @Doc("Maximum questions under way at once; about further calls there is no answer.")
        @Range(min = 1, max = 100_000)
        @Default("1000")
        int maxRequests)
        implements CheckedSection {
    /** The longest time for which an answer holds. */
    public static final Duration MAX_CACHE = Duration.ofHours(1);

    /** What happens without an answer. */
    public enum OnFailure {
        DENY,
        ALLOW
    }

    @Override
    public void check(SectionCheck check) {
        check.unique("endpoints", endpoints.stream().map(Endpoint::authority).toList(), "endpoints");
        check.atMost("timeout", timeout, "10s");
        check.atMost("cache", cache, Units.written(MAX_CACHE));
    }
}
