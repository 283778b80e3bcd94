package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.grpc.MessagePrefix;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;

/**
 * The request of a call, written in parts. The length is sent with the first part, and the end of the message only if
 * exactly that many bytes were written. Used on the event loop of the call.
 */
final class RequestParts implements RequestSink {
    private final UnaryCall call;
    private final long length;
    private long missing;

    /** A request without any part yet. */
    RequestParts(UnaryCall call, long length) {
        this.call = call;
        this.length = length;
        this.missing = length;
    }

    @Override
    public void data(ByteBuf part) {
        int bytes = part.readableBytes();
        if (call.finished() || bytes == 0) {
            part.release();
        } else if (bytes > missing) {
            part.release();
            lengthMismatch("more");
        } else {
            boolean first = missing == length;
            missing -= bytes;
            call.write(first ? MessagePrefix.before(part, length, call.pool().allocator()) : part, false);
        }
    }

    @Override
    public void end() {
        if (call.finished()) {
            return;
        }
        if (missing > 0) {
            lengthMismatch((length - missing) + " bytes");
        } else {
            call.endRequest();
        }
    }

    private void lengthMismatch(String got) {
        call.fail(new OipException(ErrorCode.INTERNAL, "a message of " + length + " bytes was announced, got " + got));
    }

    @Override
    public long held() {
        return call.finished() ? 0 : call.queued();
    }

    @Override
    public boolean isReady() {
        return !call.finished() && call.writable();
    }

    @Override
    public void cancel() {
        call.cancel();
    }

    @Override
    public void onReady() {
        call.onReady();
    }
}
