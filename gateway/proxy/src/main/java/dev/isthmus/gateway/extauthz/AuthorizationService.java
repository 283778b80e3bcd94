package dev.isthmus.gateway.extauthz;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.fleet.Discovery;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.pool.Upstreams.UpstreamResources;
import dev.isthmus.gateway.settings.ExternalAuthorizationConfig;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.tls.ClientTls;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import dev.isthmus.proto.authz.CheckRequest;
import dev.isthmus.proto.authz.CheckResponse;
import io.netty.buffer.Unpooled;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The servers of the service. They are asked in turn; one that cannot be reached leaves it to the next. Thread-safe. */
final class AuthorizationService implements AutoCloseable {
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
                .forEach(each -> next.put(each, Objects.requireNonNullElseGet(servers.get(each), () -> server(each))));
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
            answer.completeExceptionally(new OipException(ErrorCode.UNAVAILABLE, "no address of the service is known"));
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
            server.send(own, CHECK, Unpooled.wrappedBuffer(request.toByteArray()), new Reply() {
                @Override
                public void message(ReplyMessage message) {
                    try {
                        answer.complete(CheckResponse.parseFrom(
                                ((ReplyMessage.Document) message).content().nioBuffer()));
                    } catch (InvalidProtocolBufferException e) {
                        answer.completeExceptionally(
                                new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "its answer is no CheckResponse", e));
                    } finally {
                        message.release();
                    }
                }

                @Override
                public void complete() {}

                @Override
                public void fail(OipException failure) {
                    if (failure.processed() == Processed.NO && left > 1) {
                        ask(at + 1, left - 1);
                    } else {
                        answer.completeExceptionally(failure);
                    }
                }
            });
        }
    }
}
