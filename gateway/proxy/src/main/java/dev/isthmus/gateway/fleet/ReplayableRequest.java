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

/** What a server is asked, as often as it is tried. Owns its body until {@link #release()} or its last sending. */
interface ReplayableRequest {

    /** Whether it may be asked again. */
    enum RepeatSafety {
        NEVER,
        /** Where the server has not begun it, or the configuration says so. */
        INFERENCE,
        /** It changes nothing, however often it is asked. */
        ALWAYS
    }

    /** The model that is asked; its name is empty where it is the server. */
    ModelRef model();

    RepeatSafety repeat();

    /** Whether the answer may take as long as it wants. */
    default boolean endless() {
        return false;
    }

    /** What it takes to keep it for another try, in bytes. */
    default long bytes() {
        return 0;
    }

    /** Whether all of it is here, or still to come, so that it can be sent again. */
    default boolean complete() {
        return true;
    }

    /** Whether a server has taken all that the client has given of it, and more is to come. */
    default boolean waitsForClient() {
        return false;
    }

    /** Whether more of it is to come. */
    default boolean clientSends() {
        return false;
    }

    /**
     * Sends it.
     *
     * @param last whether it is not sent again, so that the body goes with it
     */
    Subscription send(Upstream server, Call call, Reply reply, boolean last);

    /** Gives back what it keeps of the body. Idempotent. */
    default void release() {}

    /** A question without a body, which is always safe to ask. */
    record BodilessRequest(ModelRef model, Sending sending) implements ReplayableRequest {

        /** Asks it. */
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

    /** An inference. */
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
                // Decoded ones go to the local backend, which is no cluster.
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
            InferMessage own = requireNonNull(message);
            InferMessage sent = last ? own : own.retained();
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
     * An inference whose request comes in parts once a server takes them. Nothing is kept of it: it may be asked again until
     * the first of them went on.
     */
    final class StreamedInference implements ReplayableRequest {
        private final ModelRef model;
        private final long length;
        private @Nullable RequestSink server;
        private boolean begun;
        private boolean ended;
        /** Whether the server took no more when it was asked last. */
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
                // Otherwise it failed at once, and went to another one meanwhile.
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

        /** Whether there is a server that takes the next part. */
        boolean writable() {
            full = server == null || !server.isReady();
            return !full;
        }

        /** Bytes that the server was given and that have not gone out to it. */
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

    /** A body that is passed on unread. */
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
            ByteBuf own = requireNonNull(body);
            ByteBuf sent = last ? own : own.retainedDuplicate();
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
