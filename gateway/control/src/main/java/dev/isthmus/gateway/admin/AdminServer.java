package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.audit.AuditActor.ActorKind;
import dev.isthmus.gateway.audit.AuditLog;
import dev.isthmus.gateway.memory.BufferAllocators;
import dev.isthmus.gateway.net.AcceptFailures;
import dev.isthmus.gateway.net.ListenAddress;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.tls.ServerTls;
import dev.isthmus.gateway.tls.TlsRegistry;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.timeout.ReadTimeoutHandler;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.Locale;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

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
                accepted.close();
                return;
            }
            connections.add(accepted);
            if (tls != null) {
                accepted.pipeline().addLast(tls.timedHandler());
            }
            AdminConnection connection = new AdminConnection(routes, access, runner, executor);
            accepted.pipeline()
                    .addLast(
                            new ReadTimeout(connection),
                            new AdminRequestDecoder(),
                            new HttpResponseEncoder(),
                            new HttpObjectAggregator(MAX_BODY),
                            connection);
        }
    }

    /** A client that sends nothing while it waits for a response is not late. */
    private static final class ReadTimeout extends ReadTimeoutHandler {
        private final AdminConnection connection;

        ReadTimeout(AdminConnection connection) {
            super(READ_TIMEOUT_SECONDS, TimeUnit.SECONDS);
            this.connection = connection;
        }

        @Override
        protected void readTimedOut(ChannelHandlerContext ctx) throws Exception {
            if (!connection.busy()) {
                super.readTimedOut(ctx);
            }
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
}
