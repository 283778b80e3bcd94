package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/** One unary call: its message is held until the status says that it counts. On the call's event loop. */
abstract class UnaryCall extends ClientCall.Listener<ByteBuf> {
    private final UpstreamSettings settings;
    private final Reply reply;
    private @Nullable OutboundMessage request;
    private @Nullable ByteBuf response;
    private boolean cancelled;

    UnaryCall(UpstreamSettings settings, Reply reply) {
        this.settings = settings;
        this.reply = reply;
    }

    /** Turns the response into an answer; takes the response. */
    protected abstract Answer answer(ByteBuf response);

    protected final Reply reply() {
        return reply;
    }

    protected void fail(OipException failure) {
        reply.fail(failure);
    }

    final Cancellation start(ClientCall<OutboundMessage, ByteBuf> call, Metadata headers, ByteBuf message) {
        OutboundMessage outbound = new OutboundMessage(message);
        request = outbound;
        call.start(this, headers);
        call.request(2);
        call.sendMessage(outbound);
        call.halfClose();
        return () -> {
            cancelled = true;
            call.cancel("the client gave up", null);
        };
    }

    @Override
    public void onMessage(ByteBuf message) {
        if (response != null) {
            message.release();
        } else {
            response = message;
        }
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
        if (request != null) {
            request.close();
        }
        ByteBuf message = response;
        response = null;
        if (cancelled || !status.isOk()) {
            if (message != null) {
                message.release();
            }
            if (!cancelled) {
                fail(failure(status));
            }
        } else if (message == null) {
            fail(new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "the upstream's answer has no message"));
        } else {
            succeed(message);
        }
    }

    private void succeed(ByteBuf message) {
        Answer answer;
        try {
            answer = answer(message);
        } catch (OipException failure) {
            fail(failure);
            return;
        }
        reply.only(answer);
    }

    /** What the server said is for the client; what happened on the way to it is put in our words. */
    private OipException failure(Status status) {
        Throwable cause = status.getCause();
        if (status.getCode() == Status.Code.DEADLINE_EXCEEDED) {
            return settings.timedOut(status.asRuntimeException());
        }
        if (status.getCode() == Status.Code.UNAVAILABLE && cause != null) {
            return settings.unreachable(cause);
        }
        String description = status.getDescription();
        return new OipException(
                ErrorCode.ofGrpcStatus(status.getCode().value()),
                description == null || description.isEmpty()
                        ? "upstream '" + settings.name() + "' answered " + status.getCode()
                        : description,
                cause);
    }
}
