package dev.isthmus.bench.faults;

import io.grpc.netty.GrpcSslContexts;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import java.nio.file.Path;
import java.util.List;
import javax.net.ssl.SSLException;

/**
 * How clients use TLS: they trust one issuer, and ask for each of the server names in turn. Connections are renewed under
 * load, so that some are always new.
 */
final class ClientTrust {
    /** A client opens a new connection, and gives up an old one, with each so many requests. */
    static final int REQUESTS_PER_CONNECTION = 25;

    private final List<String> serverNames;
    private final SslContext http1;
    private final SslContext http2;

    ClientTrust(Path issuer, List<String> serverNames) throws SSLException {
        this.serverNames = List.copyOf(serverNames);
        // The JDK's contexts: those of OpenSSL would have to be released.
        this.http1 = trusting(issuer).sslProvider(SslProvider.JDK).build();
        this.http2 =
                GrpcSslContexts.configure(trusting(issuer), SslProvider.JDK).build();
    }

    private static SslContextBuilder trusting(Path issuer) {
        return SslContextBuilder.forClient().trustManager(issuer.toFile());
    }

    /** The server name of a connection. */
    String serverName(int connection) {
        return serverNames.get(Math.floorMod(connection, serverNames.size()));
    }

    SslHandler http1(ByteBufAllocator allocator, int connection) {
        return http1.newHandler(allocator, serverName(connection), -1);
    }

    SslContext http2() {
        return http2;
    }
}
