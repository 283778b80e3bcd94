package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.admin.AdminAccess.AdminHosts;
import dev.isthmus.gateway.admin.AdminRoutes.AdminRoute;
import dev.isthmus.gateway.admin.AdminRoutes.RouteMatch;
import dev.isthmus.gateway.audit.AuditLog;
import dev.isthmus.gateway.audit.AuditLog.AuditActor.ActorKind;
import dev.isthmus.gateway.audit.AuditLog.AuditedChange;
import dev.isthmus.gateway.http1.FieldSection;
import dev.isthmus.gateway.http1.HeadLimits;
import dev.isthmus.gateway.http1.Http1Parser.ParserEvent;
import dev.isthmus.gateway.http1.Http1Request;
import dev.isthmus.gateway.http1.RequestParser;
import dev.isthmus.gateway.memory.BufferAllocators;
import dev.isthmus.gateway.net.AcceptFailures;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.ListenAddress;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.net.RequestTarget;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.tls.ServerTls;
import dev.isthmus.gateway.tls.TlsRegistry;
import dev.isthmus.oip.OipException;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.QueryStringDecoder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.timeout.ReadTimeoutException;
import io.netty.handler.timeout.ReadTimeoutHandler;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.io.IOException;
import java.io.InputStream;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** The admin listener. */
public final class AdminServer implements AutoCloseable {
    private static final int MAX_BODY = 64 * 1024;
    private static final int MAX_CONNECTIONS = 64;
    private static final int READ_TIMEOUT_SECONDS = 300;
    private static final int THREADS = 4;
    private static final int MAX_QUEUED_REQUESTS = 64;

    private final @Nullable ServerTls tls;
    private final AdminRoutes routes;
    private final AdminAccess access;
    private final RequestRunner runner;
    private final ChannelGroup connections = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    /** Those that wait for a request, the longest first: they give way to others, so that they keep nobody out. */
    private final Queue<Channel> waiting = new ConcurrentLinkedQueue<>();

    private final ThreadPoolExecutor executor = new ThreadPoolExecutor(
            THREADS,
            THREADS,
            1,
            TimeUnit.MINUTES,
            new ArrayBlockingQueue<>(MAX_QUEUED_REQUESTS),
            new DefaultThreadFactory("isthmus-admin", true));
    private final Channel channel;

    /**
     * Binds the port and accepts connections. Blocks until the port is bound.
     *
     * @throws IllegalArgumentException if the address is not loopback and nobody could be authorized
     * @throws TlsFileException if a certificate cannot be used
     * @throws BindException if the port cannot be bound
     */
    public static AdminServer listen(
            Transport transport,
            EventLoopGroup loops,
            AdminConfig config,
            TlsRegistry tls,
            AdminRoutes routes,
            AuditLog audit)
            throws BindException, InterruptedException {
        ListenAddress listenAddress = address(config);
        InetSocketAddress address = listenAddress.resolve();
        if (!address.getAddress().isLoopbackAddress() && !config.hasLogin()) {
            throw new IllegalArgumentException("admin: host '" + config.host()
                    + "' is not loopback and so requires 'token_file', 'tokens' or 'oidc'");
        }
        try {
            boolean loopback = address.getAddress().isLoopbackAddress();
            AdminAccess access = new AdminAccess(new AdminHosts(config, loopback));
            ServerTls secured = config.tls() == null ? null : tls.http1Server("admin", config.tls());
            AdminSessions sessions = new AdminSessions(config, loopback, audit, System::nanoTime, new SecureRandom());
            sessions.addTo(routes);
            new AuditPage(audit).addTo(routes);
            RequestRunner runner = new RequestRunner(sessions, audit);
            return new AdminServer(transport, loops, address, secured, access, runner, routes);
        } catch (InterruptedException | TlsFileException e) {
            throw e;
        } catch (Exception e) {
            throw listenAddress.refused(e);
        }
    }

    /**
     * Checks that the port can be bound. Blocks.
     *
     * @param config null for no such listener
     * @throws BindException if it cannot
     */
    public static void check(@Nullable AdminConfig config) throws BindException {
        if (config != null) {
            address(config).check();
        }
    }

    private static ListenAddress address(AdminConfig config) {
        return new ListenAddress("admin", config.host(), config.port(), "'port' in 'admin'");
    }

    private AdminServer(
            Transport transport,
            EventLoopGroup loops,
            InetSocketAddress address,
            @Nullable ServerTls tls,
            AdminAccess access,
            RequestRunner runner,
            AdminRoutes routes)
            throws InterruptedException {
        this.tls = tls;
        this.access = access;
        this.runner = runner;
        this.routes = routes;
        executor.allowCoreThreadTimeOut(true);
        channel = new ServerBootstrap()
                .group(loops)
                .channel(transport.serverChannel())
                .childOption(ChannelOption.ALLOCATOR, BufferAllocators.shared())
                .handler(new AcceptFailures())
                .childHandler(new Pipeline())
                .bind(address)
                .sync()
                .channel();
    }

    /** The bound address, with the actual port. */
    public InetSocketAddress address() {
        return (InetSocketAddress) channel.localAddress();
    }

    /** Closes the listener and its connections; requests in progress finish, but their responses are lost. */
    @Override
    public void close() {
        channel.close().syncUninterruptibly();
        connections.close().syncUninterruptibly();
        executor.shutdown();
        if (tls != null) {
            tls.close();
        }
    }

    private final class Pipeline extends ChannelInitializer<Channel> {
        @Override
        protected void initChannel(Channel accepted) {
            if (connections.size() >= MAX_CONNECTIONS) {
                Channel idle = waiting.poll();
                if (idle == null) {
                    accepted.close();
                    return;
                }
                idle.close();
            }
            connections.add(accepted);
            waiting.add(accepted);
            accepted.closeFuture().addListener(closed -> waiting.remove(accepted));
            if (tls != null) {
                accepted.pipeline().addLast(tls.timedHandler());
            }
            AdminConnection connection = new AdminConnection();
            accepted.pipeline()
                    .addLast(
                            new ReadTimeoutHandler(READ_TIMEOUT_SECONDS) {
                                @Override
                                protected void readTimedOut(ChannelHandlerContext ctx) throws Exception {
                                    // A client that sends nothing while it waits for a response is not late.
                                    if (!connection.busy) {
                                        super.readTimedOut(ctx);
                                    }
                                }
                            },
                            new AdminRequestDecoder(),
                            new HttpResponseEncoder(),
                            new HttpObjectAggregator(MAX_BODY),
                            connection);
        }
    }

    /** The route that shows the last entries of the audit log. */
    record AuditPage(AuditLog audit) {
        private static final int DEFAULT_ENTRIES = 100;
        private static final String ALL = "all";
        private static final String DONE = "done";

        void addTo(AdminRoutes routes) {
            routes.route(AdminRoutes.GET, "/audit", RouteAccess.DIAGNOSIS, this::show);
        }

        private AdminResponse show(AdminRequest request) {
            AdminQuery query = AdminQuery.of(request, "limit", "by", "outcome");
            int limit = query.integer("limit", 1, 2 * AuditLog.MOST, DEFAULT_ENTRIES);
            String by = query.oneOf("by", ALL, ALL, "operator", "caller", "process");
            String outcome = query.oneOf("outcome", ALL, ALL, DONE, "not_done");
            return AdminResponse.json(
                    200,
                    audit.document(
                            limit,
                            by.equals(ALL) ? null : ActorKind.valueOf(by.toUpperCase(Locale.ROOT)),
                            outcome.equals(ALL) ? null : outcome.equals(DONE)));
        }
    }

    /** Reads requests by the same grammar as those of the gateway's clients. The first malformed one is the last. */
    static final class AdminRequestDecoder extends ByteToMessageDecoder {
        private static final HeadLimits LIMITS = new HeadLimits("request line", 8 * 1024, 16 * 1024, 100);
        private static final int MAX_PART = 64 * 1024;

        private final RequestParser parser = new RequestParser(LIMITS, MAX_PART);
        private boolean inBody;

        @Override
        protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) {
            try {
                ParserEvent event = parser.next(in);
                switch (event) {
                    case MORE -> {}
                    case FOREIGN -> ctx.close();
                    case HEAD -> out.add(request(parser.request()));
                    case CONTENT -> out.add(content(parser.content()));
                    case END -> out.add(LastHttpContent.EMPTY_LAST_CONTENT);
                }
                if (event == ParserEvent.HEAD && parser.ended()) {
                    out.add(LastHttpContent.EMPTY_LAST_CONTENT);
                }
                inBody = parser.begun() && (inBody || event == ParserEvent.HEAD);
            } catch (OipException malformed) {
                in.skipBytes(in.readableBytes());
                HttpObject refused = inBody
                        ? new DefaultLastHttpContent()
                        : new DefaultHttpRequest(HttpVersion.HTTP_1_0, HttpMethod.GET, "/");
                refused.setDecoderResult(DecoderResult.failure(malformed));
                out.add(refused);
            }
        }

        private static HttpRequest request(Http1Request head) {
            HttpRequest request = new DefaultHttpRequest(
                    head.http10() ? HttpVersion.HTTP_1_0 : HttpVersion.HTTP_1_1,
                    HttpMethod.valueOf(head.method()),
                    head.target());
            FieldSection fields = head.fields();
            for (int i = 0; i < fields.size(); i++) {
                request.headers().add(fields.name(i), fields.value(i));
            }
            return request;
        }

        /** @param part taken */
        private HttpObject content(ByteBuf part) {
            return parser.ended() ? new DefaultLastHttpContent(part) : new DefaultHttpContent(part);
        }
    }

    /** Serves requests: checks who sends them and what their role allows, and records what they change. Thread-safe. */
    record RequestRunner(AdminSessions sessions, AuditLog audit) {
        private static final Logger LOG = LoggerFactory.getLogger(RequestRunner.class);
        private static final int ERROR = 400;

        /** Serves a request. May block. */
        AdminResponse run(AdminRoute route, AdminRequest request, boolean changes) {
            try {
                if (!sessions.isNeeded(route.access())) {
                    return route.handler().apply(request);
                }
                return run(route, request, sessions.require(request, changes));
            } catch (OipException refused) {
                return AdminResponse.error(refused.code().httpStatus(), refused.message());
            } catch (RuntimeException | Error fault) {
                RepeatingLogEvent.fault(LOG, fault)
                        .log("internal error in a request to the admin address; please report it");
                return AdminResponse.error(500, "internal error");
            }
        }

        private AdminResponse run(AdminRoute route, AdminRequest request, Operator operator) {
            try {
                AdminSessions.requireRole(operator, route.access());
                AdminResponse response = route.handler().apply(request.by(operator.name()));
                record(route, request, operator, response);
                return response;
            } catch (OipException refused) {
                refused(route, request, operator, refused.message());
                throw refused;
            } catch (RuntimeException | Error fault) {
                refused(route, request, operator, "internal error");
                throw fault;
            }
        }

        private void record(AdminRoute route, AdminRequest request, Operator operator, AdminResponse response) {
            AuditedChange change = response.change();
            if (change != null) {
                audit.record(operator.actor(request), change);
            } else if (response.status() >= ERROR) {
                refused(route, request, operator, "status " + response.status());
            } else if (!route.audited().isEmpty()) {
                audit.record(operator.actor(request), AuditedChange.done(route.audited(), request.tail(), "", ""));
            }
        }

        private void refused(AdminRoute route, AdminRequest request, Operator operator, String reason) {
            if (!route.audited().isEmpty()) {
                audit.record(operator.actor(request), AuditedChange.refused(route.audited(), request.tail(), reason));
            }
        }
    }

    /**
     * One operator connection. Requests are handled one at a time, on a thread that may block; a client that pipelines is
     * disconnected.
     */
    private final class AdminConnection extends SimpleChannelInboundHandler<FullHttpRequest> {
        private static final Logger LOG = LoggerFactory.getLogger(AdminConnection.class);

        /** Whether a request is being handled. */
        private boolean busy;

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, FullHttpRequest request) {
            if (busy) {
                ctx.close();
                return;
            }
            // Clients of HTTP/1.0 wait for the end of the connection unless told otherwise.
            boolean keepAlive = HttpUtil.isKeepAlive(request)
                    && request.protocolVersion().isKeepAliveDefault()
                    && request.decoderResult().isSuccess();
            AdminResponse refusal = request.decoderResult().isSuccess()
                    ? begin(ctx, request, keepAlive)
                    : AdminResponse.error(400, "malformed HTTP request");
            if (refusal != null) {
                write(ctx, refusal, keepAlive, !request.method().equals(HttpMethod.HEAD));
            }
        }

        private @Nullable AdminResponse begin(ChannelHandlerContext ctx, FullHttpRequest request, boolean keepAlive) {
            AdminResponse refused = access.refusal(request);
            if (refused != null) {
                return refused;
            }
            RequestTarget target = RequestTarget.absolute(request.uri());
            QueryStringDecoder uri = new QueryStringDecoder(target == null ? request.uri() : target.path());
            String method = request.method().name();
            RouteMatch match = routes.find(method, uri.rawPath());
            if (match == null) {
                return unknown(method, uri.rawPath());
            }
            AdminRequest parsed;
            try {
                HttpHeaders headers = request.headers();
                parsed = new AdminRequest(
                        new QueryStringDecoder(match.tail()).path(),
                        uri.parameters(),
                        name -> headers.get(name, ""),
                        request.content().toString(StandardCharsets.UTF_8),
                        ctx.channel().remoteAddress(),
                        ctx.pipeline().get(SslHandler.class) != null,
                        "",
                        ctx.channel()::isActive);
            } catch (IllegalArgumentException malformed) {
                return AdminResponse.error(400, "malformed URL");
            }
            try {
                busy = true;
                executor.execute(() ->
                        handOver(ctx, runner.run(match.route(), parsed, method.equals(AdminRoutes.POST)), keepAlive));
                waiting.remove(ctx.channel());
                return null;
            } catch (RejectedExecutionException full) {
                busy = false;
                return AdminResponse.error(503, "too many concurrent admin requests");
            }
        }

        private AdminResponse unknown(String method, String path) {
            List<String> methods = routes.methods(path);
            return methods.isEmpty()
                    ? AdminResponse.json(404, Map.of("error", "unknown path", "paths", routes.all()))
                    : AdminResponse.error(405, "method " + String.join(" or ", methods) + " is expected, got " + method)
                            .with("allow", String.join(", ", methods));
        }

        private void handOver(ChannelHandlerContext ctx, AdminResponse response, boolean keepAlive) {
            Path file = response.file();
            boolean reusable = file != null && new FileTransfer(ctx, response, file).send(keepAlive);
            EventLoops.handOver(ctx.executor(), () -> {
                busy = false;
                if (!ctx.channel().isActive()) {
                    return;
                }
                waiting.add(ctx.channel());
                if (file == null) {
                    write(ctx, response, keepAlive, true);
                } else if (!reusable) {
                    ctx.close();
                }
            });
        }

        /** @param hasBody not if it responds to HEAD */
        private static void write(ChannelHandlerContext ctx, AdminResponse result, boolean keepAlive, boolean hasBody) {
            byte[] body = result.body().getBytes(StandardCharsets.UTF_8);
            FullHttpResponse response = new DefaultFullHttpResponse(
                    HttpVersion.HTTP_1_1,
                    HttpResponseStatus.valueOf(result.status()),
                    hasBody ? Unpooled.wrappedBuffer(body) : Unpooled.EMPTY_BUFFER);
            response.headers()
                    .set(HttpHeaderNames.CONTENT_TYPE, result.contentType())
                    .set(HttpHeaderNames.CACHE_CONTROL, "no-store")
                    .set("x-content-type-options", "nosniff");
            if (result.status() != HttpResponseStatus.NOT_MODIFIED.code()) {
                response.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, body.length);
            }
            result.headers().forEach(response.headers()::set);
            HttpUtil.setKeepAlive(response, keepAlive);
            ChannelFuture written = ctx.writeAndFlush(response);
            if (!keepAlive) {
                written.addListener(ChannelFutureListener.CLOSE);
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            boolean ended = cause instanceof IOException || cause instanceof ReadTimeoutException;
            LOG.atLevel(ended ? Level.DEBUG : Level.WARN)
                    .addMarker(RepeatingLogEvent.MARKER)
                    .addKeyValue("peer", ctx.channel().remoteAddress())
                    .log("the connection of an operator failed; check the client: {}", FailureReason.of(cause));
            ctx.close();
        }

        /** Sends a temporary file as a response, part by part as the client reads it, and deletes it. */
        record FileTransfer(ChannelHandlerContext ctx, AdminResponse response, Path file) {
            private static final int PART = 64 << 10;
            private static final long PART_TIMEOUT_SECONDS = 30;

            /** Sends the file. Blocks; returns whether the connection can be used further. */
            boolean send(boolean keepAlive) {
                try (InputStream in = Files.newInputStream(file)) {
                    return send(in, Files.size(file), keepAlive);
                } catch (IOException e) {
                    LOG.warn("a temporary file cannot be sent; check {}: {}", file.getParent(), FailureReason.of(e));
                    return false;
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return false;
                } finally {
                    delete();
                }
            }

            private void delete() {
                try {
                    Files.deleteIfExists(file);
                } catch (IOException e) {
                    LOG.atWarn()
                            .addKeyValue("file", file)
                            .log("{} cannot be deleted; delete it: {}", file, FailureReason.of(e));
                }
            }

            private boolean send(InputStream in, long length, boolean keepAlive)
                    throws IOException, InterruptedException {
                HttpResponse head =
                        new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(response.status()));
                head.headers()
                        .set(HttpHeaderNames.CONTENT_TYPE, response.contentType())
                        .set(HttpHeaderNames.CACHE_CONTROL, "no-store")
                        .set(HttpHeaderNames.CONTENT_DISPOSITION, "attachment; filename=\"" + file.getFileName() + "\"")
                        .set(HttpHeaderNames.CONTENT_LENGTH, length);
                HttpUtil.setKeepAlive(head, keepAlive);
                if (!written(head)) {
                    return false;
                }
                for (byte[] part = in.readNBytes(PART); part.length > 0; part = in.readNBytes(PART)) {
                    if (!written(new DefaultHttpContent(Unpooled.wrappedBuffer(part)))) {
                        return false;
                    }
                }
                return written(LastHttpContent.EMPTY_LAST_CONTENT) && keepAlive;
            }

            private boolean written(Object part) throws InterruptedException {
                return ctx.writeAndFlush(part).await(PART_TIMEOUT_SECONDS, TimeUnit.SECONDS)
                        && ctx.channel().isActive();
            }
        }
    }
}
