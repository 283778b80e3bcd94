package dev.isthmus.bench.faults;

import io.grpc.EquivalentAddressGroup;
import io.grpc.NameResolver;
import io.grpc.NameResolverProvider;
import io.grpc.NameResolverRegistry;
import io.grpc.StatusOr;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Targets of gRPC channels that are several ports of this machine. */
final class LoopbackPorts extends NameResolverProvider {
    private static final String SCHEME = "loopback-ports";

    static {
        NameResolverRegistry.getDefaultRegistry().register(new LoopbackPorts());
    }

    /** The target of a channel to these ports. */
    static String target(List<Integer> ports) {
        return SCHEME + ":///" + ports.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    @Override
    protected boolean isAvailable() {
        return true;
    }

    @Override
    protected int priority() {
        return 5;
    }

    @Override
    public String getDefaultScheme() {
        return SCHEME;
    }

    @Override
    public @Nullable NameResolver newNameResolver(URI target, NameResolver.Args arguments) {
        return SCHEME.equals(target.getScheme()) ? new Ports(target.getPath().substring(1)) : null;
    }

    private static final class Ports extends NameResolver {
        private final String ports;

        Ports(String ports) {
            this.ports = ports;
        }

        @Override
        public String getServiceAuthority() {
            return "localhost";
        }

        @Override
        public void start(Listener2 listener) {
            List<EquivalentAddressGroup> servers = new ArrayList<>();
            for (String port : ports.split(",", -1)) {
                servers.add(new EquivalentAddressGroup(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(port))));
            }
            listener.onResult(ResolutionResult.newBuilder()
                    .setAddressesOrError(StatusOr.fromValue(servers))
                    .build());
        }

        @Override
        public void shutdown() {}
    }
}
