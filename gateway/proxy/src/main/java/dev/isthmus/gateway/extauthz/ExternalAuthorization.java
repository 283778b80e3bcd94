package dev.isthmus.gateway.extauthz;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.ListValue;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.fleet.Discovery;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.identity.Sha256Digest;
import dev.isthmus.gateway.metrics.LabelledCounters;
import dev.isthmus.gateway.net.Labelled;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.pool.Upstreams.UpstreamResources;
import dev.isthmus.gateway.settings.ExternalAuthorizationConfig;
import dev.isthmus.gateway.settings.ExternalAuthorizationConfig.OnFailure;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.tls.ClientTls;
import dev.isthmus.gateway.upstream.CallbackReply;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import dev.isthmus.proto.authz.Address;
import dev.isthmus.proto.authz.AttributeContext;
import dev.isthmus.proto.authz.CheckRequest;
import dev.isthmus.proto.authz.CheckResponse;
import dev.isthmus.proto.authz.Metadata;
import dev.isthmus.proto.authz.SocketAddress;
import io.micrometer.core.instrument.Counter;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The layer that asks a service whether a call is allowed, and each message of a stream. The service gets the head of
 * the request, the model, the operation and the caller; its answers are kept as long as they hold. Thread-safe.
 */
public final class ExternalAuthorization implements Layer {
    /** The member of an answer's metadata that says for how many seconds the answer holds. */
    private static final String LIFETIME = "cache_seconds";

    private static final Logger LOG = LoggerFactory.getLogger(ExternalAuthorization.class);
    private static final int MAX_KEPT = 50_000;
    private static final int OK = 0;
    private static final int UNAUTHENTICATED = 16;
    /** Those of a refusal that clients get; any other is 403. */
    private static final Set<Integer> STATUSES = Set.of(401, 404, 429);

    private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

    private final ExternalAuthorizationConfig config;
    private final AuthorizationService service;
    private final LongSupplier nanoTime;
    private final AtomicInteger underWay = new AtomicInteger();
    private final Map<CheckResult, Counter> results;
    /** By the question without what differs between equal calls: it may have secrets in headers. */
    private final Cache<Sha256Digest, Decision> decisions;

    /** The results that are counted. */
    private enum CheckResult implements Labelled {
        ALLOWED,
        REFUSED,
        KEPT,
        FAILED
    }

    /**
     * What happens to a call.
     *
     * @param refusal null if it goes on
     * @param lifetime zero if that holds for this call only
     */
    private record Decision(@Nullable OipException refusal, Duration lifetime) {
        CompletableFuture<@Nullable Object> result() {
            return refusal == null ? CompletableFuture.completedFuture(null) : CompletableFuture.failedFuture(refusal);
        }
    }

    public ExternalAuthorization(ExternalAuthorizationConfig config, UpstreamResources resources) {
        this.config = config;
        service = new AuthorizationService(config, resources);
        nanoTime = resources.clusterResources().nanoTime();
        results = LabelledCounters.of(
                CheckResult.class,
                result -> Counter.builder("isthmus.external.authorization")
                        .description("Calls, and messages of streams, by what the authorization service says of them;"
                                + " kept: not asked about, because an answer holds; failed: without an answer")
                        .tag("result", result.label())
                        .register(resources.clusterResources().meters()));
        decisions = Caffeine.newBuilder()
                .maximumSize(MAX_KEPT)
                .expireAfter(Expiry.<Sha256Digest, Decision>creating((question, decision) -> decision.lifetime()))
                .ticker(nanoTime::getAsLong)
                .executor(Runnable::run)
                .build();
    }

    @Override
    public String name() {
        return "external_authorization";
    }

    @Override
    public @Nullable CompletableFuture<?> open(Exchange exchange) {
        Operation operation = exchange.call().operation();
        if (operation.probe()) {
            return null;
        }
        AttributeContext.Builder question = question(exchange);
        Sha256Digest key = Sha256Digest.of(question.build().toByteArray());
        Decision known = decisions.getIfPresent(key);
        if (known != null) {
            LabelledCounters.increment(results, CheckResult.KEPT);
            return known.result();
        }
        if (underWay.incrementAndGet() > config.maxRequests()) {
            underWay.decrementAndGet();
            return unanswered("more than " + config.maxRequests() + " questions are under way (max_requests)")
                    .result();
        }
        if (exchange.stream() == null && operation.needsPermit()) {
            // The request is held meanwhile.
            exchange.countMemory();
        }
        CallContext context = exchange.context();
        // Not the call's own: a client must not choose that there is no answer.
        long deadline = nanoTime.getAsLong() + config.timeout().toNanos();
        Call own = new Call(operation, deadline, Map.of(), context.loop(), context.allocator());
        question.getRequestBuilder().getHttpBuilder().setId(context.requestId());
        CheckRequest request = CheckRequest.newBuilder().setAttributes(question).build();
        return service.ask(own, request)
                .handle((answer, failure) -> {
                    underWay.decrementAndGet();
                    return failure == null ? decided(key, answer) : unanswered(failure.getMessage());
                })
                .thenCompose(Decision::result);
    }

    /** What the decision may depend on: equal questions get equal answers. */
    private AttributeContext.Builder question(Exchange exchange) {
        CallContext context = exchange.context();
        HeaderFields head = context.headers();
        AttributeContext.HttpRequest.Builder http = AttributeContext.HttpRequest.newBuilder()
                .setMethod(head.method())
                .setPath(head.uri())
                .setSize(-1);
        String host = head.value(":authority") == null ? head.value("host") : head.value(":authority");
        if (host != null) {
            http.setHost(host);
        }
        for (String name : config.headers()) {
            String value = head.value(name);
            if (value != null) {
                http.putHeaders(name, value);
            }
        }
        Operation operation = exchange.call().operation();
        ModelRef model = operation.requestedModel();
        Principal caller = context.principal();
        AttributeContext.Builder question = AttributeContext.newBuilder()
                .setSource(AttributeContext.Peer.newBuilder().setPrincipal(caller.name()))
                .setRequest(AttributeContext.Request.newBuilder().setHttp(http))
                .putContextExtensions("operation", operation.kind().label())
                .putContextExtensions("permission", operation.permission().label())
                .putContextExtensions("listener", context.listener())
                .putContextExtensions("caller", caller.name())
                .putContextExtensions("issuer", String.join(" ", caller.claims().getOrDefault("iss", Set.of())))
                .putContextExtensions("model", model == null ? "" : model.name())
                .putContextExtensions("version", model == null ? "" : model.version());
        ListValue.Builder groups = ListValue.newBuilder();
        caller.groups().stream()
                .sorted()
                .forEach(each -> groups.addValues(Value.newBuilder().setStringValue(each)));
        question.setMetadataContext(Metadata.newBuilder()
                .putFilterMetadata(
                        "isthmus",
                        Struct.newBuilder()
                                .putFields(
                                        "groups",
                                        Value.newBuilder().setListValue(groups).build())
                                .build()));
        if (context.peer() instanceof InetSocketAddress peer && !peer.isUnresolved()) {
            question.getSourceBuilder()
                    .setAddress(Address.newBuilder()
                            .setSocketAddress(SocketAddress.newBuilder()
                                    .setAddress(peer.getAddress().getHostAddress())));
        }
        return question;
    }

    private Decision decided(Sha256Digest key, CheckResponse answer) {
        if (!answer.hasStatus()) {
            return unanswered("its answer says neither that the call is allowed nor that it is refused");
        }
        boolean allowed = answer.getStatus().getCode() == OK;
        LabelledCounters.increment(results, allowed ? CheckResult.ALLOWED : CheckResult.REFUSED);
        OipException refusal =
                allowed ? null : new OipException(refusal(answer), "the call is refused by the authorization service");
        Decision decision = new Decision(refusal, lifetime(answer));
        if (decision.lifetime().isPositive()) {
            decisions.put(key, decision);
        }
        return decision;
    }

    private static ErrorCode refusal(CheckResponse answer) {
        int status = answer.getDeniedResponse().getStatus().getCode();
        boolean anonymous = status == 0 && answer.getStatus().getCode() == UNAUTHENTICATED;
        return anonymous
                ? ErrorCode.UNAUTHENTICATED
                : STATUSES.contains(status) ? ErrorCode.ofHttpStatus(status) : ErrorCode.PERMISSION_DENIED;
    }

    /** Zero if the answer holds for this call only. */
    private Duration lifetime(CheckResponse answer) {
        Value said = answer.getDynamicMetadata().getFieldsMap().get(LIFETIME);
        if (said == null || !said.hasNumberValue()) {
            return config.cache() == null ? Duration.ZERO : config.cache();
        }
        double longest = ExternalAuthorizationConfig.MAX_CACHE.toSeconds();
        return Duration.ofMillis((long) (Math.clamp(said.getNumberValue(), 0, longest) * 1000));
    }

    private Decision unanswered(@Nullable String why) {
        LabelledCounters.increment(results, CheckResult.FAILED);
        boolean goesOn = config.onFailure() == OnFailure.ALLOW;
        RepeatingLogEvent.warn(LOG)
                .log(
                        "no answer of the authorization service, so that calls {}; check external_authorization: {}",
                        goesOn ? "pass unasked" : "are refused",
                        why);
        OipException refusal = goesOn
                ? null
                : OipException.refused(ErrorCode.UNAVAILABLE, "the call cannot be authorized now", RETRY_AFTER);
        return new Decision(refusal, Duration.ZERO);
    }

    /** Closes the connections to the service. */
    @Override
    public void close() {
        service.close();
    }

    /** The servers of the service. They are asked in turn; one that cannot be reached leaves it to the next. Thread-safe. */
    static final class AuthorizationService implements AutoCloseable {
        private static final String NAME = "external_authorization";
        private static final String CHECK = "/envoy.service.auth.v3.Authorization/Check";
        /** Several times what an answer has. */
        private static final int MAX_ANSWER = 64 << 10;

        private static final Duration DNS_REFRESH = Duration.ofSeconds(30);

        private final ExternalAuthorizationConfig config;
        private final UpstreamResources resources;
        private final @Nullable ClientTls tls;
        private final Discovery.Registration names;
        private final AtomicInteger turn = new AtomicInteger();
        private volatile Map<DiscoveredServer, GrpcUpstream> servers = Map.of();
        private boolean closed;

        /** Opens no connection: the first call of each event loop does. Waits for the names to be resolved. */
        AuthorizationService(ExternalAuthorizationConfig config, UpstreamResources resources) {
            this.config = config;
            this.resources = resources;
            tls = config.tls() == null ? null : resources.tls().client(NAME, config.tls());
            List<ServerAddress> all = config.endpoints().stream()
                    .<ServerAddress>map(ServerAddress.HostAddress::new)
                    .toList();
            names = resources.clusterResources().discovery().watch(all, DNS_REFRESH, this::found);
            names.first()
                    .copy()
                    .completeOnTimeout(null, config.timeout().toMillis(), TimeUnit.MILLISECONDS)
                    .join();
        }

        /** Servers that stay keep their connections. */
        private synchronized void found(List<DiscoveredServer> found) {
            Map<DiscoveredServer, GrpcUpstream> next = new LinkedHashMap<>();
            (closed ? List.<DiscoveredServer>of() : found)
                    .forEach(each ->
                            next.put(each, Objects.requireNonNullElseGet(servers.get(each), () -> server(each))));
            servers.entrySet().stream()
                    .filter(each -> !next.containsKey(each.getKey()))
                    .forEach(each -> each.getValue().close());
            servers = next;
        }

        private GrpcUpstream server(DiscoveredServer found) {
            UpstreamSettings settings = new UpstreamSettings(
                    NAME,
                    found.address(),
                    found.authority(),
                    "",
                    tls == null ? null : tls.to(found.authority()),
                    config.timeout(),
                    config.timeout(),
                    MAX_ANSWER,
                    MAX_ANSWER,
                    HeaderAllowList.of(List.of()),
                    AbusePolicy.NONE,
                    resources.connections(),
                    resources.clusterResources().ending());
            return new GrpcUpstream(
                    settings,
                    ServerCapabilities.unknown(),
                    resources.clusterResources().allocator());
        }

        /**
         * Asks about a call.
         *
         * @param own the gateway's call to the service, with a deadline
         * @return completes on the call's event loop; fails with an {@link OipException} for operators
         */
        CompletableFuture<CheckResponse> ask(Call own, CheckRequest request) {
            CompletableFuture<CheckResponse> answer = new CompletableFuture<>();
            List<GrpcUpstream> all = List.copyOf(servers.values());
            if (all.isEmpty()) {
                answer.completeExceptionally(
                        new OipException(ErrorCode.UNAVAILABLE, "no address of the service is known"));
            } else {
                new Question(own, request, all, answer).ask(turn.getAndIncrement(), all.size());
            }
            return answer;
        }

        @Override
        public void close() {
            names.close();
            synchronized (this) {
                closed = true;
                found(List.of());
            }
            if (tls != null) {
                tls.close();
            }
        }

        /** A question under way. */
        private record Question(
                Call own, CheckRequest request, List<GrpcUpstream> servers, CompletableFuture<CheckResponse> answer) {

            /** @param left how many servers may be asked, the one at this position first */
            void ask(int at, int left) {
                GrpcUpstream server = servers.get(Math.floorMod(at, servers.size()));
                Reply reply = new CallbackReply(this::answered, () -> {}, failure -> {
                    if (failure.processed() == Processed.NO && left > 1) {
                        ask(at + 1, left - 1);
                    } else {
                        answer.completeExceptionally(failure);
                    }
                });
                server.send(own, CHECK, Unpooled.wrappedBuffer(request.toByteArray()), reply);
            }

            private void answered(ReplyMessage message) {
                try {
                    answer.complete(CheckResponse.parseFrom(
                            ((ReplyMessage.Document) message).content().nioBuffer()));
                } catch (InvalidProtocolBufferException e) {
                    answer.completeExceptionally(
                            new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "its answer is no CheckResponse", e));
                }
            }
        }
    }
}
