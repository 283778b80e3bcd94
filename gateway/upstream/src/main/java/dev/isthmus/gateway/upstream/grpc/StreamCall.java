package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.upstream.TimeoutQueue.CallTimeout;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ExpectedOrigin;
import dev.isthmus.transcoder.message.ResponseOrigin;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.StreamEnvelope;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One ModelStreamInfer call. The next response is delivered only when the client is ready, and requests are queued
 * while the server is not ready. Used on the event loop of the call.
 */
final class StreamCall extends GrpcCall implements UpstreamStream {
    /** The start of Triton's texts about a request that does not fit the model. */
    private static final Pattern INVALID = Pattern.compile(
            "\\[request id:|unexpected (?:shape|size|inference|additional) |inference (?:request|input) "
                    + "|input (?:'|byte size)|expected \\d+ ");

    private static final int MAX_IDS = 1024;

    private final Dialect dialect;
    private final Deque<ByteBuf> waiting = new ArrayDeque<>();
    private ExpectedOrigin expected = ExpectedOrigin.ANY;
    /** The ids of the requests; null if one has none, or there are too many to know them. */
    private @Nullable Set<String> ids = new HashSet<>();

    private boolean endRequested;
    private boolean endSent;

    StreamCall(GrpcConnectionPool pool, HeaderFieldList head, CallTimeout timeout, Dialect dialect, Reply reply) {
        super(pool, head, timeout, reply);
        this.dialect = dialect;
    }

    @Override
    public void send(Call request, InferenceRequest message, boolean emptyFinal) {
        if (finished() || endRequested || !(message.message() instanceof InferMessage.ProtobufMessage protobuf)) {
            message.release();
            return;
        }
        String id = message.id();
        expected = ExpectedOrigin.of(dialect, message.model().name(), "");
        if (ids != null && (id.isEmpty() || !dialect.repeatsId(id) || ids.size() == MAX_IDS)) {
            ids = null;
        } else if (ids != null) {
            ids.add(id);
        }
        waiting.add(protobuf.message());
        flush();
    }

    @Override
    public void end() {
        endRequested = true;
        flush();
    }

    @Override
    public boolean isReady() {
        return waiting.isEmpty();
    }

    @Override
    public long keptBytes() {
        long bytes = queued();
        for (ByteBuf message : waiting) {
            bytes += message.readableBytes();
        }
        return bytes;
    }

    @Override
    long maxMessageBytes() {
        return pool().texts().maxMessageBytes();
    }

    @Override
    void sendRequest() {
        boolean queued = !waiting.isEmpty();
        flush();
        if (queued && waiting.isEmpty() && !finished()) {
            reply().onReady();
        }
    }

    private void flush() {
        while (!finished() && !waiting.isEmpty() && writable()) {
            ByteBuf next = waiting.remove();
            endSent = endRequested && waiting.isEmpty();
            sendMessage(next, endSent);
        }
        if (!finished() && endRequested && !endSent && waiting.isEmpty() && open()) {
            endSent = true;
            endRequest();
        }
    }

    @Override
    void release() {
        waiting.forEach(ByteBuf::release);
        waiting.clear();
    }

    @Override
    boolean acceptsMessages() {
        return reply().isReady();
    }

    @Override
    void received(ByteBuf message) {
        ReplyMessage response;
        try {
            response = decode(message);
        } catch (OipException e) {
            fail(pool().failures().badResponse("sent a message that violates the protocol", e));
            return;
        }
        String violation = response instanceof ReplyMessage.Inference inference
                        && inference.message() instanceof InferMessage.ProtobufMessage protobuf
                ? violation(ProtobufReader.origin(protobuf.message()))
                : null;
        if (violation == null) {
            reply().message(response);
        } else {
            response.release();
            pool().outOfStep();
            fail(pool().failures().badResponse(violation, null));
        }
    }

    private @Nullable String violation(ResponseOrigin origin) {
        boolean foreign = ids != null && !origin.id().isEmpty() && !ids.contains(origin.id());
        return foreign ? "sent a response with an id that no request has" : expected.violation(origin);
    }

    private ReplyMessage decode(ByteBuf message) {
        if (!enveloped(message)) {
            return new ReplyMessage.Inference(new InferMessage.ProtobufMessage(message));
        }
        StreamEnvelope.EnvelopeContent content = StreamEnvelope.open(message);
        ByteBuf response = content.response();
        return response == null
                ? new ReplyMessage.StreamError(
                        OipException.ofServer(code(content.error()), content.error()), content.id())
                : new ReplyMessage.Inference(new InferMessage.ProtobufMessage(response));
    }

    private boolean enveloped(ByteBuf message) {
        try {
            return switch (dialect) {
                case TRITON, OVMS -> true;
                case MLSERVER, KSERVE -> false;
                case GENERIC -> StreamEnvelope.isEnvelope(message);
            };
        } catch (OipException malformed) {
            message.release();
            throw malformed;
        }
    }

    /** Triton's errors within a stream are messages without a status; these patterns identify the status. */
    private static ErrorCode code(String error) {
        if (error.startsWith("Request for unknown model")) {
            return ErrorCode.NOT_FOUND;
        }
        if (error.endsWith("Exceeds maximum queue size") || error.endsWith("Request timeout expired")) {
            return ErrorCode.UNAVAILABLE;
        }
        return INVALID.matcher(error).lookingAt() ? ErrorCode.INVALID_ARGUMENT : ErrorCode.UNKNOWN;
    }

    @Override
    void succeeded() {
        finish();
        reply().complete();
    }
}
