package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBuf;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is measured of one call, between ingress and what answers it. It ends with the first of complete, fail and cancel.
 * Lives on the call's event loop.
 */
final class MeteredCall implements Reply {
    private static final long NOT_YET = -1;

    private final MetricsService handler;
    private final OperationMeters meters;
    private final Reply client;
    private final long start;
    private long read = NOT_YET;
    private long answered = NOT_YET;
    private long requestBytes;
    private long responseBytes;
    private boolean over;

    MeteredCall(MetricsService handler, OperationMeters meters, Reply client) {
        this.handler = handler;
        this.meters = meters;
        this.client = client;
        this.start = handler.now();
    }

    RequestSink reading(RequestSink sink) {
        return new MeteredSink(sink);
    }

    long requestBytes() {
        return requestBytes;
    }

    long responseBytes() {
        return responseBytes;
    }

    /** Nanoseconds until the request was complete; negative where it never was. */
    long readNanos() {
        return read;
    }

    /** Nanoseconds from then to the first answer; negative where one of them did not come, or the answer came first. */
    long upstreamNanos() {
        return read < 0 || answered < read ? NOT_YET : answered - read;
    }

    /** Nanoseconds from the first answer to the end; negative where there was none. */
    long writeNanos(long end) {
        return answered < 0 ? NOT_YET : end - answered;
    }

    /** @param code null where the call ended well */
    void end(@Nullable ErrorCode code) {
        if (!over) {
            over = true;
            handler.ended(this, meters, code, elapsed());
        }
    }

    private long elapsed() {
        return Math.max(0, handler.now() - start);
    }

    @Override
    public void headers(Map<String, String> headers) {
        client.headers(headers);
    }

    @Override
    public void message(ReplyMessage answer) {
        if (!over) {
            if (answered < 0) {
                answered = elapsed();
            }
            responseBytes += size(answer);
        }
        client.message(answer);
    }

    @Override
    public void complete() {
        try {
            client.complete();
        } finally {
            end(null);
        }
    }

    @Override
    public void fail(OipException failure) {
        try {
            client.fail(failure);
        } finally {
            end(failure.code());
        }
    }

    @Override
    public boolean writable() {
        return client.writable();
    }

    @Override
    public boolean takesParts(Wire wire, long length) {
        return client.takesParts(wire, length);
    }

    @Override
    public void readMore() {
        client.readMore();
    }

    private static int size(ReplyMessage answer) {
        return switch (answer) {
            case ReplyMessage.Inference inference -> size(inference.message());
            case ReplyMessage.Part part -> part.bytes().readableBytes();
            case ReplyMessage.Document document -> document.content().readableBytes();
            case ReplyMessage.Events events -> events.content().readableBytes();
            case ReplyMessage.Live live -> 0;
            case ReplyMessage.Ready ready -> 0;
            case ReplyMessage.ModelReadyState ready -> 0;
            case ReplyMessage.Server server -> 0;
            case ReplyMessage.Model model -> 0;
            case ReplyMessage.StreamError error -> 0;
        };
    }

    private static int size(InferMessage message) {
        return switch (message) {
            case InferMessage.RestMessage rest -> rest.body().content().readableBytes();
            case InferMessage.ProtobufMessage protobuf -> protobuf.message().readableBytes();
            case InferMessage.DecodedRequest request -> 0;
            case InferMessage.Response response -> 0;
        };
    }

    /** The request's side. */
    private final class MeteredSink implements RequestSink {
        private final RequestSink sink;

        MeteredSink(RequestSink sink) {
            this.sink = sink;
        }

        @Override
        public void data(ByteBuf chunk) {
            requestBytes += chunk.readableBytes();
            sink.data(chunk);
        }

        @Override
        public void end() {
            if (!over) {
                read = elapsed();
            }
            sink.end();
        }

        @Override
        public void cancel() {
            try {
                sink.cancel();
            } finally {
                MeteredCall.this.end(ErrorCode.CANCELLED);
            }
        }

        @Override
        public boolean writable() {
            return sink.writable();
        }

        @Override
        public boolean inOnePiece() {
            return sink.inOnePiece();
        }

        @Override
        public void resume() {
            sink.resume();
        }
    }
}
