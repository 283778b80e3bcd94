package dev.isthmus.gateway.fleet;

import static java.util.Objects.requireNonNull;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * A request that can be sent to several servers in turn. Owns its body until {@link #release()} or the last attempt.
 */
interface ReplayableRequest {

    /** Whether it may be sent again after a server may have processed it. */
    enum RepeatSafety {
        NEVER,
        /** If the server has not begun to process it, or if the configuration allows it. */
        INFERENCE,
        /** Idempotent: it changes nothing. */
        ALWAYS
    }

    /** The requested model; its name is empty for requests about the server. */
    ModelRef model();

    RepeatSafety repeat();

    /** Whether the response may last indefinitely. */
    default boolean endless() {
        return false;
    }

    /** The memory it takes to keep the request for a retry, in bytes. */
    default long bytes() {
        return 0;
    }

    /** Whether no part of the request was consumed yet, so that it can be sent again. */
    default boolean complete() {
        return true;
    }

    /** Whether the server has received all that the client has sent, and more is to come. */
    default boolean waitsForClient() {
        return false;
    }

    /** Whether more of the request is to come from the client. */
    default boolean clientSends() {
        return false;
    }

    /**
     * Sends the request.
     *
     * @param last whether this is the last attempt, which takes the body
     */
    Subscription send(Upstream server, Call call, Reply reply, boolean last);

    /** Releases the body, if it is kept. Idempotent. */
    default void release() {}

    /** A request without a body; always safe to repeat. */
    record BodilessRequest(ModelRef model, Sending sending) implements ReplayableRequest {

        /** Sends the request to one server. */
        @FunctionalInterface
        interface Sending {
            Subscription send(Upstream server, Call call, Reply reply);
        }

        @Override
        public RepeatSafety repeat() {
            return RepeatSafety.ALWAYS;
        }

        @Override
        public Subscription send(Upstream server, Call call, Reply reply, boolean last) {
            return sending.send(server, call, reply);
        }
    }

    /** A buffered inference request. */
    final class InferenceRequest implements ReplayableRequest {
        private final ModelRef model;
        private final boolean events;
        private final long bytes;
        private @Nullable InferMessage message;

        /** @param message taken */
        InferenceRequest(ModelRef model, InferMessage message, boolean events) {
            this.model = model;
            this.events = events;
            this.message = message;
            this.bytes = switch (message) {
                case InferMessage.RestMessage rest -> rest.body().content().readableBytes();
                case InferMessage.ProtobufMessage protobuf -> protobuf.message().readableBytes();
                // Decoded requests go to the local backend, which is not a cluster.
                case InferMessage.DecodedRequest request -> Long.MAX_VALUE;
                case InferMessage.Response response -> Long.MAX_VALUE;
            };
        }

        @Override
        public ModelRef model() {
            return model;
        }

        @Override
        public RepeatSafety repeat() {
            return RepeatSafety.INFERENCE;
        }

        @Override
        public boolean endless() {
            return events;
        }

        @Override
        public long bytes() {
            return bytes;
        }

        @Override
        public Subscription send(Upstream server, Call call, Reply reply, boolean last) {
            InferMessage kept = requireNonNull(message);
            InferMessage sent = last ? kept : kept.retained();
            if (last) {
                message = null;
            }
            return events ? server.inferEvents(call, model, sent, reply) : server.infer(call, model, sent, reply);
        }

        @Override
        public void release() {
            InferMessage kept = message;
            message = null;
            if (kept != null) {
                kept.release();
            }
        }
    }

    /**
     * An inference request that is forwarded in parts as the server reads them. Nothing is kept: it can be repeated
     * until the first part was forwarded.
     */
    final class StreamedInference implements ReplayableRequest {
        private final ModelRef model;
        private final long length;
        private @Nullable RequestSink server;
        private boolean begun;
        private boolean ended;
        /** Whether the server was not ready at the last check. */
        private boolean full;

        private int sendings;

        /** @param length of the message in bytes */
        StreamedInference(ModelRef model, long length) {
            this.model = model;
            this.length = length;
        }

        @Override
        public ModelRef model() {
            return model;
        }

        @Override
        public RepeatSafety repeat() {
            return begun ? RepeatSafety.NEVER : RepeatSafety.INFERENCE;
        }

        @Override
        public boolean complete() {
            return !begun;
        }

        @Override
        public Subscription send(Upstream to, Call call, Reply reply, boolean last) {
            server = null;
            int sending = ++sendings;
            RequestSink opened = to.inferParts(call, model, length, reply);
            if (sending == sendings) {
                // Otherwise the attempt failed at once, and send() was called for another server meanwhile.
                server = opened;
                if (opened.isReady()) {
                    reply.onReady();
                }
            }
            return new Opened(opened);
        }

        private record Opened(RequestSink sink) implements Subscription {
            @Override
            public void cancel() {
                sink.cancel();
            }

            @Override
            public void onReady() {
                sink.onReady();
            }
        }

        /** Whether a server is ready for the next part. */
        boolean isReady() {
            full = server == null || !server.isReady();
            return !full;
        }

        /** Bytes forwarded to the server's connection but not yet written to its socket. */
        long held() {
            return server == null ? 0 : server.held();
        }

        @Override
        public boolean clientSends() {
            return !ended;
        }

        @Override
        public boolean waitsForClient() {
            return begun && !ended && !full;
        }

        /** @param part taken */
        void data(ByteBuf part) {
            begun = true;
            requireNonNull(server).data(part);
        }

        void end() {
            ended = true;
            requireNonNull(server).end();
        }
    }

    /** A request whose body is forwarded unread. */
    final class PassThroughRequest implements ReplayableRequest {
        private final Operation operation;
        private final ModelRef model;
        private final RepeatSafety repeat;
        private final long bytes;
        private @Nullable ByteBuf body;

        /** @param body taken */
        PassThroughRequest(Operation.Generate generate, ByteBuf body) {
            this(generate, generate.model(), RepeatSafety.NEVER, body);
        }

        /** @param body taken */
        PassThroughRequest(Operation.Manage manage, ByteBuf body) {
            this(
                    manage,
                    manage.model(),
                    manage.extension().repeatable() ? RepeatSafety.ALWAYS : RepeatSafety.NEVER,
                    body);
        }

        private PassThroughRequest(Operation operation, ModelRef model, RepeatSafety repeat, ByteBuf body) {
            this.operation = operation;
            this.model = model;
            this.repeat = repeat;
            this.body = body;
            this.bytes = body.readableBytes();
        }

        @Override
        public ModelRef model() {
            return model;
        }

        @Override
        public RepeatSafety repeat() {
            return repeat;
        }

        @Override
        public boolean endless() {
            return operation instanceof Operation.Generate generate && generate.stream();
        }

        @Override
        public long bytes() {
            return bytes;
        }

        @Override
        public Subscription send(Upstream server, Call call, Reply reply, boolean last) {
            ByteBuf kept = requireNonNull(body);
            ByteBuf sent = last ? kept : kept.retainedDuplicate();
            if (last) {
                body = null;
            }
            return operation instanceof Operation.Manage manage
                    ? server.manage(call, manage, sent, reply)
                    : server.generate(call, (Operation.Generate) operation, sent, reply);
        }

        @Override
        public void release() {
            ByteBuf kept = body;
            body = null;
            if (kept != null) {
                kept.release();
            }
        }
    }
}
