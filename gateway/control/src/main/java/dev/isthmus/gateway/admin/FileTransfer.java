package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.net.FailureReason;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sends a temporary file as a response, part by part as the client reads it, and deletes it. */
final class FileTransfer {
    private static final Logger LOG = LoggerFactory.getLogger(FileTransfer.class);
    private static final int PART = 64 << 10;
    private static final long PART_TIMEOUT_SECONDS = 30;

    private final ChannelHandlerContext ctx;
    private final AdminResponse response;
    private final Path file;

    FileTransfer(ChannelHandlerContext ctx, AdminResponse response, Path file) {
        this.ctx = ctx;
        this.response = response;
        this.file = file;
    }

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
