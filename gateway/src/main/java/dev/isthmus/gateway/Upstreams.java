package dev.isthmus.gateway;

import dev.isthmus.gateway.UpstreamPool.Lease;
import dev.isthmus.gateway.call.HeaderNames;
import dev.isthmus.gateway.config.Endpoint;
import dev.isthmus.gateway.config.GatewayConfig;
import dev.isthmus.gateway.config.GatewayConfig.LocalConfig;
import dev.isthmus.gateway.config.ServerAddress;
import dev.isthmus.gateway.config.UpstreamConfig;
import dev.isthmus.gateway.fleet.Cluster;
import dev.isthmus.gateway.upstream.PeerKnowledge;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.gateway.upstream.local.LocalUpstream;
import dev.isthmus.gateway.upstream.rest.PoolLimits;
import dev.isthmus.gateway.upstream.rest.RestUpstream;
import dev.isthmus.local.LocalBackend;
import dev.isthmus.transcoder.Wire;
import io.netty.buffer.ByteBufAllocator;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The upstreams of one configuration, by name, made or taken over from the generation before. */
final class Upstreams implements AutoCloseable {
    private final Map<String, Lease> leases = new HashMap<>();

    /** All that a remote upstream is made of: where this is equal, it stays. */
    private record Remote(String name, UpstreamConfig config, int maxBodySize, HeaderNames returned) {}

    Upstreams(GatewayConfig config, UpstreamPool pool) {
        try {
            config.upstreams().forEach((name, upstream) -> {
                Remote remote = new Remote(
                        name,
                        upstream,
                        config.limits().maxBodySize(),
                        config.headers().returned());
                leases.put(name, pool.lease(remote, () -> remote(remote)));
            });
            LocalConfig local = config.local();
            if (local != null) {
                leases.put(GatewayConfig.LOCAL, pool.lease(local, () -> new LocalUpstream(local(local))));
            }
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    private static Upstream remote(Remote remote) {
        UpstreamConfig config = remote.config();
        var knowledge = new PeerKnowledge(config.dialect(), config.binaryTensorData(), config.sharedMemory());
        List<Upstream> servers = new ArrayList<>();
        for (ServerAddress address : config.endpoints()) {
            Endpoint endpoint = ((ServerAddress.At) address).endpoint();
            UpstreamSettings settings = new UpstreamSettings(
                    remote.name(),
                    endpoint,
                    endpoint.authority(),
                    config.timeout(),
                    config.connectTimeout(),
                    remote.maxBodySize(),
                    remote.returned());
            servers.add(
                    switch (config.protocol()) {
                        case GRPC -> new GrpcUpstream(settings, knowledge, ByteBufAllocator.DEFAULT);
                        case REST ->
                            new RestUpstream(settings, knowledge, PoolLimits.DEFAULT, ByteBufAllocator.DEFAULT);
                    });
        }
        Wire wire = switch (config.protocol()) {
            case GRPC -> Wire.PROTOBUF;
            case REST -> Wire.REST;
        };
        return new Cluster(remote.name(), wire, knowledge, servers);
    }

    private static LocalBackend local(LocalConfig config) {
        int threads =
                config.threads() > 0 ? config.threads() : Runtime.getRuntime().availableProcessors();
        return config.modelRepository() == null
                ? LocalBackend.embedded(threads, config.queueSize())
                : LocalBackend.of(config.modelRepository(), config.embeddedModels(), threads, config.queueSize());
    }

    List<Upstream> all() {
        return leases.values().stream().map(Lease::upstream).toList();
    }

    Upstream required(String name) {
        Lease lease = leases.get(name);
        if (lease == null) {
            throw new IllegalArgumentException("no upstream is named '" + name + "'");
        }
        return lease.upstream();
    }

    @Override
    public void close() {
        leases.values().forEach(Lease::close);
    }
}
