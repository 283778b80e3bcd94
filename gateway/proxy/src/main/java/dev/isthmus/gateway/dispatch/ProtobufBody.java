package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.dispatch.RequestBody.DecodedBody;
import dev.isthmus.gateway.dispatch.RequestUpload.StreamedRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.buffer.BufferCollector;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.ProtobufSplice;
import dev.isthmus.transcoder.protobuf.RawRequest;
import dev.isthmus.transcoder.rest.OutputForms;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A protobuf request: validated and forwarded unchanged to a protobuf upstream, transcoded for any other. One that is
 * received in parts is validated while it arrives.
 */
final class ProtobufBody extends RequestBody {
    private final ProtobufReader.Outline outline;
    private final @Nullable MessagePartsRequest parts;
    private @Nullable ByteBuf message;
    /** The released message, which may be held until it is written. */
    private @Nullable ByteBuf sent;

    private int sentLength;

    /**
     * Creates an empty body.
     *
     * @param requested the model as the client names it
     * @param form of the message, which is received in one piece or in parts
     */
    ProtobufBody(Exchange exchange, ModelRef requested, Transcoder transcoder, BodyForm.ProtobufForm form) {
        super(exchange, requested, transcoder);
        this.outline = form.outline();
        this.parts = form.inParts() == null ? null : new MessagePartsRequest(form.inParts());
    }

    @Override
    void add(ByteBuf chunk) {
        if (parts != null) {
            parts.add(chunk);
        } else {
            releaseReceived();
            message = chunk;
        }
    }

    @Override
    @Nullable
    StreamedRequest streamed() {
        if (parts != null) {
            transcoder.requireTensors(parts.raw);
        }
        return parts;
    }

    @Override
    long held() {
        if (message != null) {
            return message.readableBytes();
        }
        long sending = sent == null || sent.refCnt() == 0 ? 0 : sentLength;
        return parts == null ? sending : sending + parts.gathered.bytes();
    }

    @Override
    void end() {
        if (parts == null) {
            complete();
        } else if (!parts.raw.complete()) {
            throw OipException.invalid("a ModelInferRequest of " + parts.raw.length() + " bytes is expected, got less");
        } else if (!parts.started) {
            message = parts.gathered.take();
        }
    }

    private ByteBuf complete() {
        ByteBuf complete = message;
        if (complete == null) {
            throw OipException.invalid("a ModelInferRequest is expected, got none");
        }
        return complete;
    }

    @Override
    Map<String, Parameter> parameters() {
        return outline.parameters();
    }

    @Override
    String receivedId() {
        return outline.id();
    }

    @Override
    UpstreamMessage prepare(ServerFeatures peer, ModelRef model, @Nullable Consumer<RequestOutline> show) {
        InferMessage received = renamed(model);
        InferMessage produced = transcoder.request(allocator, received, peer, show);
        return new UpstreamMessage(produced, form(peer, model, produced == received));
    }

    @Override
    DecodedBody decode(ServerFeatures peer, ModelRef model) {
        return new DecodedBody(transcoder.decoded(renamed(model), peer), form(peer, model, false));
    }

    /** @param asReceived whether the server gets the contents as they were received */
    private ResponseForm form(ServerFeatures peer, ModelRef model, boolean asReceived) {
        boolean typed = typed(peer);
        // A server that gets raw contents returns raw contents.
        boolean unchanged = peer.dialect().acceptsId(outline.id()) && (asReceived || !typed);
        return new ResponseForm(
                Wire.PROTOBUF,
                unchanged,
                OutputForms.JSON,
                typed,
                sharedOutputs(peer, unchanged),
                outline.id(),
                responseModel(model));
    }

    private boolean typed(ServerFeatures peer) {
        return !outline.raw() && !peer.dialect().alwaysRaw() && message != null && ProtobufReader.typed(message);
    }

    /** A message that is received in parts has none. */
    private Map<String, Map<String, Parameter>> sharedOutputs(ServerFeatures peer, boolean unchanged) {
        boolean decoded = peer.wire() != Wire.PROTOBUF || !unchanged;
        return peer.sharedMemory() && decoded && message != null ? transcoder.sharedOutputs(message) : Map.of();
    }

    private InferMessage.ProtobufMessage renamed(ModelRef model) {
        InferMessage.ProtobufMessage encoded = new InferMessage.ProtobufMessage(complete()).retained();
        return model.equals(outline.model())
                ? encoded
                : new InferMessage.ProtobufMessage(ProtobufSplice.request(allocator, encoded.message(), model));
    }

    @Override
    void releaseReceived() {
        if (parts != null) {
            parts.gathered.release();
        }
        if (message != null) {
            sent = message;
            sentLength = message.readableBytes();
            message.release();
            message = null;
        }
    }

    /** A message that is received in parts, the first of which contains its head. */
    private final class MessagePartsRequest implements StreamedRequest {
        private final RawRequest raw;
        private final BufferCollector gathered = new BufferCollector(allocator);
        private boolean headAdded;
        private boolean started;

        MessagePartsRequest(RawRequest raw) {
            this.raw = raw;
        }

        /** Adds the part (taken). */
        void add(ByteBuf part) {
            try {
                raw.check(headAdded ? part : part.slice(part.readerIndex() + raw.headLength(), beyondHead(part)));
            } catch (RuntimeException e) {
                part.release();
                throw e;
            }
            headAdded = true;
            gather(part);
        }

        private int beyondHead(ByteBuf first) {
            return first.readableBytes() - raw.headLength();
        }

        /** Keeps the components of composites separate, so that they can be written one by one. */
        private void gather(ByteBuf part) {
            if (part instanceof CompositeByteBuf composite) {
                for (ByteBuf each : composite.decompose(composite.readerIndex(), composite.readableBytes())) {
                    gathered.add(each.retain());
                }
                composite.release();
            } else {
                gathered.add(part);
            }
        }

        @Override
        public long length() {
            return raw.length();
        }

        @Override
        public RequestOutline outline() {
            return raw.outline();
        }

        @Override
        public @Nullable StreamedMessage start(ServerFeatures peer, ModelRef model) {
            if (!Transcoder.acceptsUnchanged(raw, peer)) {
                return null;
            }
            started = true;
            long length = model.equals(outline.model()) ? raw.length() : raw.length() + rename(model);
            return new StreamedMessage(length, form(peer, model, true));
        }

        /** Replaces the model name in the head; returns by how many bytes it grows. */
        private int rename(ModelRef model) {
            ByteBuf received = gathered.take();
            try {
                ByteBuf head = ProtobufSplice.request(allocator, received.readRetainedSlice(raw.headLength()), model);
                int longer = head.readableBytes() - raw.headLength();
                gather(head);
                gather(received.retain());
                return longer;
            } finally {
                received.release();
            }
        }

        @Override
        public boolean hasPart() {
            return started && gathered.bytes() > 0;
        }

        @Override
        public ByteBuf take() {
            return gathered.take();
        }
    }
}
