package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBuf;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A request to an upstream. Owns its body until it is sent or released. */
public sealed interface UpstreamRequest {
    /** Stands for no model. */
    ModelRef NO_MODEL = ModelRef.of("");

    /** Whether a request may be sent again after a server may have processed it. */
    enum RepeatSafety {
        NEVER,
        /** If the server has not begun to process it, or if the configuration allows it. */
        INFERENCE,
        /** Idempotent: it changes nothing. */
        ALWAYS
    }

    /** The model and version to request from the upstream; {@link #NO_MODEL} for requests about the server. */
    default ModelRef model() {
        return NO_MODEL;
    }

    default RepeatSafety repeat() {
        return RepeatSafety.ALWAYS;
    }

    /** Whether the response may last indefinitely. */
    default boolean endless() {
        return false;
    }

    /** The memory it takes to keep the request for a retry, in bytes; only while it owns its body. */
    default long bytes() {
        return 0;
    }

    /** Whether part of it was sent and is not kept, so that it cannot be sent again. */
    default boolean begun() {
        return false;
    }

    /** Whether more of the request is to come from the client. */
    default boolean clientSends() {
        return false;
    }

    /** Whether the server has received all that the client has sent, and more is to come. */
    default boolean waitsForClient() {
        return false;
    }

    /** The same request with a body that shares the memory, to be sent while this one is kept for a retry. */
    default UpstreamRequest retained() {
        return this;
    }

    /**
     * The same request for another upstream, in case that this one's fails; shares the body, which must not have been
     * sent. Null if it cannot be sent again.
     */
    default @Nullable UpstreamRequest to(Upstream other, ModelRef there) {
        return null;
    }

    default void release() {}

    /**
     * An inference; the reply receives {@code ReplyMessage.Inference}s on the peer's wire, or one in parts. It is encoded
     * when its message is needed.
     */
    final class InferenceRequest implements UpstreamRequest {
        private final @Nullable Upstream server;
        /** Null once the message was taken. */
        private @Nullable InferSource source;

        private @Nullable InferMessage message;
        private final ModelRef model;
        private final String id;
        private final boolean events;

        /**
         * A request that was encoded.
         *
         * @param message on the peer's wire, taken
         * @param id of the request, which the response has to repeat; empty if it has none
         * @param events whether any number of responses may arrive, one if the server cannot stream; otherwise there is
         *     exactly one
         */
        public InferenceRequest(ModelRef model, InferMessage message, String id, boolean events) {
            this.server = null;
            this.message = message;
            this.model = model;
            this.id = id;
            this.events = events;
        }

        /** An inference with one response, whose id is not compared. */
        public InferenceRequest(ModelRef model, InferMessage message) {
            this(model, message, "", false);
        }

        /**
         * A request that is encoded for a server.
         *
         * @param source taken
         */
        public InferenceRequest(Upstream server, ModelRef model, InferSource source, boolean events) {
            this.server = server;
            this.source = source;
            this.model = model;
            this.id = source.id();
            this.events = events;
        }

        @Override
        public ModelRef model() {
            return model;
        }

        /** As given to {@link #InferenceRequest(ModelRef, InferMessage, String, boolean)}. */
        public String id() {
            return id;
        }

        public boolean events() {
            return events;
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
            return message().bytes();
        }

        @Override
        public InferenceRequest retained() {
            return new InferenceRequest(model, message().retained(), id, events);
        }

        @Override
        public @Nullable InferenceRequest to(Upstream other, ModelRef there) {
            InferSource shared = shared();
            return shared == null ? null : new InferenceRequest(other, there, shared, events);
        }

        /** What it is produced from; only before its message is taken. */
        public InferSource source() {
            return Objects.requireNonNull(source);
        }

        /** The server that it is meant for; as {@link #source()}. */
        public Upstream server() {
            return Objects.requireNonNull(server);
        }

        /** The same source for another request; null if it was taken. */
        private @Nullable InferSource shared() {
            if (source != null) {
                source.retain();
            }
            return source;
        }

        /**
         * The decoded request; borrowed, as {@link #source()}.
         *
         * @throws dev.isthmus.oip.OipException if it cannot be expressed for the server; it is released then
         */
        public InferRequest decoded() {
            try {
                return source().decoded(server(), model());
            } catch (RuntimeException | OutOfMemoryError e) {
                release();
                throw e;
            }
        }

        /**
         * Encodes it, if it was not.
         *
         * @throws dev.isthmus.oip.OipException as {@link #decoded()}
         */
        public InferMessage encode() {
            InferMessage encoded = message;
            if (encoded == null) {
                try {
                    encoded = source().encoded(server(), model());
                } catch (RuntimeException | OutOfMemoryError e) {
                    release();
                    throw e;
                }
                message = encoded;
            }
            return encoded;
        }

        /** As {@link InferSource#sharedOutputs()}; none once its message was taken. Encodes it, as {@link #encode()}. */
        Map<String, Map<String, Parameter>> sharedOutputs() {
            encode();
            return source == null ? Map.of() : source.sharedOutputs();
        }

        /** The message on the peer's wire, owned by the caller if it sends it; see {@link #encode()}. */
        public InferMessage message() {
            InferMessage encoded = encode();
            releaseSource();
            return encoded;
        }

        private void releaseSource() {
            if (source != null) {
                source.release();
                source = null;
            }
        }

        @Override
        public void release() {
            releaseSource();
            if (message != null) {
                message.release();
            }
        }
    }

    /**
     * An inference whose encoded ModelInferRequest is written to it in parts, after it was sent; the reply receives the
     * same messages as that of {@link InferenceRequest}. Only for upstreams with {@link Upstream#passesFrom()}.
     *
     * <p>Nothing may be written before it is ready: {@link Reply#onReady()} reports that, possibly before {@code send}
     * returns. Until the first part is written, the call may be retried on another server; after that it never is. The
     * caller ends the request after the last byte: the end of a message of any other length is never sent to the
     * server. The call's timeout starts when it is sent. Confined to the call's event loop.
     */
    final class InferenceInParts implements UpstreamRequest {
        private final ModelRef model;
        private final long length;
        private final String id;
        private RequestSink server = RequestSink.ENDED;
        private @Nullable Runnable sent;
        private boolean begun;
        private boolean ended;
        /** Whether the server was not ready at the last check. */
        private boolean full;

        /**
         * A request that is not sent yet.
         *
         * @param model as named in the message
         * @param length of the message in bytes
         * @param id as that of {@link InferenceRequest}
         */
        public InferenceInParts(ModelRef model, long length, String id) {
            this.model = model;
            this.length = length;
            this.id = id;
        }

        /** As that of {@link InferenceRequest}. */
        public String id() {
            return id;
        }

        @Override
        public ModelRef model() {
            return model;
        }

        /** The length of the message in bytes. */
        public long length() {
            return length;
        }

        /** From now on, parts go to this server. */
        public void open(RequestSink sink) {
            server = sink;
        }

        /** This is to run before the request is ended. */
        public void beforeEnd(Runnable task) {
            sent = task;
        }

        @Override
        public RepeatSafety repeat() {
            return RepeatSafety.INFERENCE;
        }

        @Override
        public boolean begun() {
            return begun;
        }

        @Override
        public boolean clientSends() {
            return !ended;
        }

        @Override
        public boolean waitsForClient() {
            return begun && !ended && !full;
        }

        /** Whether the server accepts the next part. */
        public boolean isReady() {
            full = !server.isReady();
            return !full;
        }

        /**
         * Sends the next part.
         *
         * @param part taken
         */
        public void data(ByteBuf part) {
            begun = true;
            server.data(part);
        }

        /** The message is complete. */
        public void end() {
            ended = true;
            if (sent != null) {
                sent.run();
            }
            server.end();
        }

        /** Bytes forwarded to the server's connection but not yet written to its socket. */
        public long held() {
            return server.held();
        }
    }

    /**
     * A request of the generate extension; the reply receives one {@code ReplyMessage.Document}, or {@code
     * ReplyMessage.Events} for a stream.
     *
     * @param body JSON, taken
     */
    record GenerateRequest(Operation.Generate operation, ByteBuf body) implements UpstreamRequest {
        @Override
        public ModelRef model() {
            return operation.model();
        }

        @Override
        public RepeatSafety repeat() {
            return RepeatSafety.NEVER;
        }

        @Override
        public boolean endless() {
            return operation.stream();
        }

        @Override
        public long bytes() {
            return body.readableBytes();
        }

        @Override
        public GenerateRequest to(Upstream other, ModelRef there) {
            return new GenerateRequest(new Operation.Generate(there, operation.stream()), body.retainedDuplicate());
        }

        @Override
        public GenerateRequest retained() {
            return new GenerateRequest(operation, body.retainedDuplicate());
        }

        @Override
        public void release() {
            body.release();
        }
    }

    /**
     * A request of a management extension; the reply receives one {@code ReplyMessage.Document}.
     *
     * @param operation its {@code json} is whether the peer's wire is REST
     * @param body JSON or a protobuf message, taken
     */
    record ManageRequest(Operation.Manage operation, ByteBuf body) implements UpstreamRequest {
        @Override
        public ModelRef model() {
            return operation.model();
        }

        @Override
        public RepeatSafety repeat() {
            return operation.extension().repeatable() ? RepeatSafety.ALWAYS : RepeatSafety.NEVER;
        }

        @Override
        public long bytes() {
            return body.readableBytes();
        }

        @Override
        public ManageRequest retained() {
            return new ManageRequest(operation, body.retainedDuplicate());
        }

        @Override
        public void release() {
            body.release();
        }
    }

    /** The reply receives one {@code ReplyMessage.Ready}: whether the server is ready. */
    record ServerReadyRequest() implements UpstreamRequest {}

    /** The reply receives one {@code ReplyMessage.Server}. */
    record ServerMetadataRequest() implements UpstreamRequest {}

    /** The reply receives one {@code ReplyMessage.ModelReadyState}; a model unknown to the server is not ready. */
    record ModelReadyRequest(ModelRef model) implements UpstreamRequest {}

    /** The reply receives one {@code ReplyMessage.Model}, or NOT_FOUND. */
    record ModelMetadataRequest(ModelRef model) implements UpstreamRequest {
        @Override
        public ModelMetadataRequest to(Upstream other, ModelRef there) {
            return new ModelMetadataRequest(there);
        }
    }

    /**
     * The names of the server's models, for servers that have such a list but no repository index; the reply receives
     * one {@code ReplyMessage.Document}: KServe's {@code {"models": [...]}}.
     */
    record ModelNamesRequest() implements UpstreamRequest {}
}
