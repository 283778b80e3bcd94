package dev.isthmus.gateway.settings;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An address that serves REST and gRPC. */
public record Listener(
        @Doc("Host name or address. One that is not loopback needs 'authentication', or 'access: open'.")
        @HostName
        @Default("127.0.0.1")
        String host,

        @Doc("0 takes any free port.") @Range(max = 65_535) @Default("8080")
        int port,

        @Doc("Name in policies and logs. Default: host:port.") @Nullable
        String name,

        @Doc("open: requests need no credential. Default: they do if there is a section 'authentication'.") @Nullable
        ListenerAccess access,

        @Doc("Whether load, unload, trace, logging and shared memory are served; with 'access' its rules decide.")
        @Default("deny")
        ManagementAccess management,

        @Doc("Addresses of proxies in front, whose X-Forwarded-For, X-Forwarded-Proto and Forwarded name the "
                + "client. Those headers of all others are ignored, and never forwarded.")
        List<AddressRange> trustedProxies,

        @Doc("Whether every connection starts with a PROXY protocol header (version 1 or 2), which names the "
                + "client. Connections without one, and those of others than trusted_proxies, are closed.")
        boolean proxyProtocol,

        @Nullable ListenerTls tls,

        @Doc("Whether gRPC-Web is served, which web pages use instead of gRPC.")
        boolean grpcWeb,

        @Nullable CorsConfig cors)
        implements CheckedSection {
    public static final Listener DEFAULT = DefaultValues.of(Listener.class);

    @Override
    public void check(SectionCheck check) {
        if (check.valid() && proxyProtocol && trustedProxies.isEmpty()) {
            check.problem("proxy_protocol", "'trusted_proxies' is expected, as connections of all others are closed");
        }
    }

    @Override
    public String label(String path) {
        return path + " " + label();
    }

    /** The Unix socket of one of the gateway's own processes, for it alone: nobody else has the path. */
    public static Listener unix(Path socket) {
        return DefaultValues.with(
                DEFAULT,
                "host",
                socket.toAbsolutePath().toString(),
                "port",
                0,
                "name",
                GatewayConfig.LOCAL,
                "access",
                ListenerAccess.OPEN,
                "management",
                ManagementAccess.ALLOW);
    }

    /** Whether it is a Unix socket, whose path is the host. */
    public boolean isUnix() {
        return host.startsWith("/");
    }

    /** Whether requests need no credential, although its address is not loopback or others need one. */
    public boolean isOpen() {
        return access == ListenerAccess.OPEN;
    }

    /** Whether only this machine can reach it. */
    public boolean isLoopback() {
        return isUnix() || WebUrl.isLoopback(host);
    }

    /** Why it must not be opened with this authentication; null if it may be. */
    public @Nullable String exposure(@Nullable AuthenticationConfig authentication) {
        return isLoopback() || isOpen() || authentication != null
                ? null
                : "host: '" + host + "' is not loopback, so everybody who reaches it may send requests: add "
                        + "a section 'authentication', or 'access: open' to the listener";
    }

    /** A copy at another address. */
    public Listener at(String otherHost, int otherPort) {
        return DefaultValues.with(this, "host", otherHost, "port", otherPort);
    }

    /** Whether both are the same address. */
    public boolean sameAddress(Listener other) {
        return host.equals(other.host) && port == other.port;
    }

    /** The name in policies, metrics and logs. */
    public String label() {
        return name != null ? name : (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + port;
    }
}
