package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.admin.AdminRoutes.RouteMatch;
import dev.isthmus.gateway.admin.AdminServer.RequestRunner;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.net.RequestTarget;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.QueryStringDecoder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.timeout.ReadTimeoutException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * One operator connection. Requests are handled one at a time, on a thread that may block; a client that pipelines is
 * disconnected.
 */
final class AdminConnection extends SimpleChannelInboundHandler<FullHttpRequest> {
    private static final Logger LOG = LoggerFactory.getLogger(AdminConnection.class);

    private final AdminRoutes routes;
    private final AdminAccess access;
    private final RequestRunner runner;
    private final Executor executor;
    private boolean busy;

    AdminConnection(AdminRoutes routes, AdminAccess access, RequestRunner runner, Executor executor) {
        this.routes = routes;
        this.access = access;
        this.runner = runner;
        this.executor = executor;
    }

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
            write(ctx, refusal, keepAlive);
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
                    ctx.channel()::isActive);
        } catch (IllegalArgumentException malformed) {
            return AdminResponse.error(400, "malformed URL");
        }
        try {
            busy = true;
            executor.execute(
                    () -> handOver(ctx, runner.run(match.route(), parsed, method.equals(AdminRoutes.POST)), keepAlive));
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
                : AdminResponse.error(405, "method " + String.join(" or ", methods) + " is expected, got " + method);
    }

    private void handOver(ChannelHandlerContext ctx, AdminResponse response, boolean keepAlive) {
        Path file = response.file();
        boolean reusable = file != null && new FileTransfer(ctx, response, file).send(keepAlive);
        try {
            ctx.executor().execute(() -> {
                if (file == null) {
                    respond(ctx, response, keepAlive);
                } else {
                    sent(ctx, reusable);
                }
            });
        } catch (RejectedExecutionException ended) {
            LOG.debug("the gateway ended before an admin response was sent");
        }
    }

    /** Whether a request is being handled. */
    boolean busy() {
        return busy;
    }

    private void sent(ChannelHandlerContext ctx, boolean reusable) {
        busy = false;
        if (!reusable) {
            ctx.close();
        }
    }

    private void respond(ChannelHandlerContext ctx, AdminResponse response, boolean keepAlive) {
        busy = false;
        if (ctx.channel().isActive()) {
            write(ctx, response, keepAlive);
        }
    }

    private static void write(ChannelHandlerContext ctx, AdminResponse result, boolean keepAlive) {
        byte[] body = result.body().getBytes(StandardCharsets.UTF_8);
        FullHttpResponse response = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(result.status()), Unpooled.wrappedBuffer(body));
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
        private static final Logger LOG = LoggerFactory.getLogger(FileTransfer.class);
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

        private boolean send(InputStream in, long length, boolean keepAlive) throws IOException, InterruptedException {
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
