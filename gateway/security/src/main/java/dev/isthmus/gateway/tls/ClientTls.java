package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.ListenerTls.TlsVersion;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.TlsFiles;
import dev.isthmus.gateway.settings.TlsFiles.KeyedCertificate;
import dev.isthmus.gateway.settings.UpstreamTls;
import dev.isthmus.gateway.settings.WatchedFiles;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.OpenSslSessionContext;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.NetUtil;
import io.netty.util.ReferenceCountUtil;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** TLS of the connections to the servers of an upstream. Thread-safe. */
public final class ClientTls extends TlsContexts {
    private static final Logger LOG = LoggerFactory.getLogger(ClientTls.class);

    private final String owner;
    private final UpstreamTls settings;
    private final TlsMeters.HandshakeMeters meters;

    ClientTls(String owner, UpstreamTls settings, TlsRegistry registry) {
        super(owner, files(settings), registry, () -> load(settings));
        this.owner = owner;
        this.settings = settings;
        this.meters = registry.meters().upstreams;
    }

    private static WatchedFiles files(UpstreamTls settings) {
        return new WatchedFiles(
                () -> Stream.of(settings.ca(), settings.certificate(), settings.key())
                        .filter(Objects::nonNull)
                        .toList(),
                true);
    }

    /** @throws TlsFileException if a file cannot be used */
    private static ContextSet load(UpstreamTls settings) {
        List<CertificateExpiry> expiries = new ArrayList<>();
        SslContext http2 = context(settings, ApplicationProtocolNames.HTTP_2, expiries);
        try {
            SslContext http1 = context(settings, ApplicationProtocolNames.HTTP_1_1, new ArrayList<>());
            return new ContextSet(
                    List.of(http2, http1),
                    Map.of(ApplicationProtocolNames.HTTP_2, http2, ApplicationProtocolNames.HTTP_1_1, http1),
                    expiries);
        } catch (TlsFileException e) {
            ReferenceCountUtil.release(http2);
            throw e;
        }
    }

    private static SslContext context(UpstreamTls settings, String alpn, List<CertificateExpiry> expiries) {
        SslContextBuilder builder = SslContextBuilder.forClient().endpointIdentificationAlgorithm("HTTPS");
        Path ca = settings.ca();
        if (ca != null) {
            builder.trustManager(TrustedIssuers.of(ca, null, expiries));
        }
        Path certificate = settings.certificate();
        Path key = settings.key();
        if (certificate != null && key != null) {
            KeyedCertificate keyed = TlsFiles.keyed(certificate, key);
            builder.keyManager(keyed.key(), keyed.chain());
            expiries.add(CertificateExpiry.of(certificate, keyed.certificate()));
        }
        try {
            SslContext context = TlsParameters.common(builder, TlsVersion.TLS_1_2, List.of(alpn))
                    .build();
            if (context.sessionContext() instanceof OpenSslSessionContext sessions) {
                // Connections to servers live long. A session that arrives while its context is released would
                // leak.
                sessions.setSessionCacheEnabled(false);
            }
            return context;
        } catch (SSLException | IllegalArgumentException e) {
            throw new TlsFileException(file(certificate, ca), "cannot be used: " + e.getMessage(), e);
        }
    }

    private static Path file(@Nullable Path certificate, @Nullable Path ca) {
        Path given = certificate == null ? ca : certificate;
        return given == null ? Path.of("the trust store of the Java runtime") : given;
    }

    /**
     * TLS to one server.
     *
     * @param authority host and port of the server, or the host alone
     */
    public TlsServer to(String authority) {
        String name = settings.serverName();
        return new TlsServer(this, name == null ? host(authority) : name);
    }

    private static String host(String authority) {
        int colon = authority.lastIndexOf(':');
        String host = colon < 0 || NetUtil.isValidIpV6Address(authority) ? authority : authority.substring(0, colon);
        return host.replaceAll("[\\[\\]]", "");
    }

    /**
     * TLS to one server.
     *
     * @param host the name or address that its certificate must have
     */
    public record TlsServer(ClientTls tls, String host) {

        /**
         * Adds the handlers of a new connection for gRPC: it must agree on HTTP/2. To be called before handlers of the
         * protocol are added. What is written waits for the handshake; if that fails, the connection is closed.
         */
        public void addHttp2(Channel channel, Duration timeout) {
            add(channel, timeout, true);
        }

        /** As {@link #addHttp2}, for HTTP/1.1. */
        public void addHttp1(Channel channel, Duration timeout) {
            add(channel, timeout, false);
        }

        private void add(Channel channel, Duration timeout, boolean http2) {
            SslHandler handler = handler(channel.alloc(), http2);
            handler.setHandshakeTimeoutMillis(Math.max(1, timeout.toMillis()));
            channel.pipeline().addLast(handler, new HandshakeObserver(this, handler, http2));
        }

        private SslHandler handler(ByteBufAllocator allocator, boolean http2) {
            ContextSet contexts = tls.acquire();
            try {
                String protocol = http2 ? ApplicationProtocolNames.HTTP_2 : ApplicationProtocolNames.HTTP_1_1;
                return contexts.of(protocol).newHandler(allocator, host, -1);
            } finally {
                contexts.release();
            }
        }
    }

    private void failed(Throwable failure, Channel channel, String host) {
        meters.ended(HandshakeResult.of(failure));
        String reason = HandshakeFailure.reason(failure);
        RepeatingLogEvent.warn(LOG)
                .addKeyValue("server", channel.remoteAddress())
                .addKeyValue("code", HandshakeResult.of(failure).label())
                .log("{}: TLS to {} as '{}' failed: {}", owner, channel.remoteAddress(), host, reason);
    }

    /** Reports the end of the handshake, and closes connections that did not agree on HTTP/2. */
    private static final class HandshakeObserver extends ChannelInboundHandlerAdapter {
        private final TlsServer server;
        private final SslHandler handler;
        private final boolean http2;
        private long since = System.nanoTime();

        HandshakeObserver(TlsServer server, SslHandler handler, boolean http2) {
            this.server = server;
            this.handler = handler;
            this.http2 = http2;
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            since = System.nanoTime();
            ctx.fireChannelActive();
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event instanceof SslHandshakeCompletionEvent completion) {
                Throwable failure = completion.cause();
                if (failure == null
                        && http2
                        && !ApplicationProtocolNames.HTTP_2.equals(handler.applicationProtocol())) {
                    failure = new SSLException("the server did not agree on HTTP/2 (ALPN h2)");
                    ctx.fireExceptionCaught(failure);
                    ctx.close();
                }
                ended(failure, ctx.channel());
            }
            ctx.fireUserEventTriggered(event);
        }

        private void ended(@Nullable Throwable failure, Channel channel) {
            if (failure == null) {
                String version = handler.engine().getSession().getProtocol();
                server.tls().meters.ended(version, System.nanoTime() - since);
            } else {
                server.tls().failed(failure, channel, server.host());
            }
        }
    }

    /** Why a handshake with a server failed, for operators. */
    static final class HandshakeFailure {
        private HandshakeFailure() {}

        static String reason(Throwable failure) {
            if (failure instanceof ClosedChannelException) {
                return "the server closed the connection during the handshake; does it speak TLS on this port, and does it"
                        + " ask for a certificate?";
            }
            String reason = null;
            for (Throwable each = failure; each != null; each = each.getCause()) {
                String known = known(each);
                reason = known == null ? reason : known;
            }
            return reason == null ? FailureReason.of(failure) : reason;
        }

        private static @Nullable String known(Throwable cause) {
            return switch (cause) {
                case CertificateExpiredException expired ->
                    "the server's certificate has expired: " + FailureReason.of(expired);
                case CertificateNotYetValidException early ->
                    "the server's certificate is not valid yet: " + FailureReason.of(early);
                case CertPathBuilderException unknown ->
                    "the server's certificate was not issued by a trusted issuer ('ca'): " + FailureReason.of(unknown);
                case CertificateException refused ->
                    "the server's certificate is refused: " + FailureReason.of(refused);
                default -> null;
            };
        }
    }
}
