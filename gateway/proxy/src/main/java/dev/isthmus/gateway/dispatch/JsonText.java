package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.buffer.BufferCollector;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.StreamParameters;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import dev.isthmus.transcoder.rest.RestRequestReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The body of a REST request, parsed while its parts arrive, and kept as received if a server may need that. If all
 * servers accept it as received, its numbers are skipped; as soon as something requires conversion or is invalid, the
 * received bytes are parsed again in full. So the outcome is the same as with full parsing, except for numbers that
 * only a server reads.
 */
final class JsonText {
    private final ByteBufAllocator allocator;
    private final ModelRef model;
    private final long jsonLength;
    private final JsonReadMode mode;
    private final WireLimits limits;
    private @Nullable BufferCollector original;
    private RestRequestReader reader;
    private boolean skimmed;
    private @Nullable ByteBuf text;
    private @Nullable RestRequest parsed;

    JsonText(ByteBufAllocator allocator, ModelRef model, long jsonLength, JsonReadMode mode, WireLimits limits) {
        this.allocator = allocator;
        this.model = model;
        this.jsonLength = jsonLength;
        this.mode = mode;
        this.limits = limits.withSharedMemory(mode.sharedMemory());
        this.original = mode.original() ? new BufferCollector(allocator) : null;
        this.skimmed = original != null && !mode.skimmedFor().isEmpty();
        this.reader = skimmed ? RestRequestReader.skimming(allocator, model, mode.anyParameter(), this.limits) : full();
    }

    private RestRequestReader full() {
        return new RestRequestReader(allocator, model, jsonLength, mode.anyParameter(), limits);
    }

    /**
     * Adds the next part.
     *
     * @param chunk taken
     */
    void add(ByteBuf chunk) {
        try {
            if (original != null) {
                original.add(chunk.retainedDuplicate());
            }
            if (!skimmed) {
                reader.feed(chunk);
            } else if (!skim(chunk)) {
                parseInFull();
            }
        } finally {
            chunk.release();
        }
    }

    /** Whether nothing received so far requires full parsing. */
    private boolean skim(ByteBuf chunk) {
        try {
            if (parsed != null) {
                return !chunk.isReadable();
            }
            reader.feed(chunk);
            if (reader.complete()) {
                RestRequest complete = reader.finish();
                parsed = complete;
                return PassThroughRule.appliesTo(mode.skimmedFor(), complete);
            }
            return true;
        } catch (OipException refused) {
            return false;
        }
    }

    /** Parses the received bytes again, in full. */
    private void parseInFull() {
        skimmed = false;
        reader.release();
        releaseParsed();
        reader = full();
        if (original != null) {
            original.show(reader::feed);
        }
    }

    /**
     * The request of its JSON, once that is complete and the binary data behind it has sizes known to be right;
     * otherwise null.
     */
    @Nullable
    RestRequest head(long bodyLength) {
        return skimmed ? null : reader.head(bodyLength);
    }

    /** Returns the reader that continues when the binary data is taken in parts: the original is not kept. */
    RestRequestReader inParts() {
        if (original != null) {
            original.release();
            original = null;
        }
        return reader;
    }

    /** Checks that the body, whose binary data was taken in parts, is complete. */
    void requireComplete() {
        reader.requireComplete();
    }

    /** Bytes of memory held until the body ends. */
    long held() {
        return reader.held() + (original == null ? 0 : original.bytes());
    }

    /** The body is complete. */
    void end() {
        if (skimmed && parsed == null) {
            parseInFull();
        }
        if (parsed == null) {
            parsed = reader.finish();
        }
        text = original == null ? null : original.take();
    }

    /** The parsed request, after the end; the data of its tensors may have been skipped. */
    RestRequest request() {
        return Objects.requireNonNull(parsed);
    }

    /** The request parsed in full, after the end. */
    RestRequest inFull() {
        ByteBuf complete = text;
        if (skimmed && complete != null) {
            // The capabilities of a server have changed since the request started.
            reader = full();
            reader.feed(complete);
            RestRequest full = reader.finish();
            releaseParsed();
            parsed = full;
            skimmed = false;
        }
        return request();
    }

    /** The original text, after the end (borrowed); null if it was not kept. */
    @Nullable
    ByteBuf text() {
        return text;
    }

    /** Releases everything. Idempotent. */
    void release() {
        reader.release();
        releaseParsed();
        if (original != null) {
            original.release();
        }
        if (text != null) {
            text.release();
            text = null;
        }
    }

    private void releaseParsed() {
        if (parsed != null) {
            parsed.request().release();
            parsed = null;
        }
    }

    /**
     * How a REST request is parsed, so that it can be sent to any of the servers that it may be routed to.
     *
     * @param anyParameter whether parameters that the protocol does not define are accepted
     * @param original whether the body is kept as received
     * @param sharedMemory whether tensors may be in shared memory
     * @param skimmedFor the servers that the request, and copies of it, may be sent to, if numbers need not be parsed
     *     because all of them accept the body as received; else none
     */
    record JsonReadMode(boolean anyParameter, boolean original, boolean sharedMemory, List<ServerFeatures> skimmedFor) {

        /** Derives the mode from what the route's servers support now. */
        static JsonReadMode of(Route route, long jsonLength) {
            boolean anyParameter = false;
            boolean original = false;
            boolean sharedMemory = false;
            boolean skimmed = jsonLength == RestBody.ALL_JSON;
            List<ServerFeatures> peers = new ArrayList<>(route.upstreams().size());
            for (Upstream upstream : route.upstreams()) {
                ServerFeatures peer = upstream.peer();
                anyParameter |= peer.anyParameter();
                original |= keepsOriginal(peer, jsonLength);
                sharedMemory |= peer.sharedMemory();
                skimmed &= mostlyOriginal(peer);
                peers.add(peer);
            }
            for (Upstream upstream : route.shadowUpstreams()) {
                skimmed &= mostlyOriginal(upstream.peer());
                peers.add(upstream.peer());
            }
            return new JsonReadMode(anyParameter, original, sharedMemory, skimmed ? peers : List.of());
        }

        /** The same for a request that is decoded, whichever server gets it. */
        JsonReadMode decoding() {
            return new JsonReadMode(anyParameter, false, sharedMemory, List.of());
        }

        /** Whether the server may be sent a body of this kind as received: few servers with binary data get plain JSON. */
        static boolean keepsOriginal(ServerFeatures peer, long jsonLength) {
            if (peer.wire() != Wire.REST) {
                return false;
            }
            boolean json = jsonLength == RestBody.ALL_JSON;
            return peer.binaryTensorData()
                    ? !json || !peer.dialect().lossyJson() || peer.dialect().mayInspectJson()
                    : json;
        }

        /** Whether the server is sent nearly all JSON as received: not if the gateway asks it for binary data. */
        private static boolean mostlyOriginal(ServerFeatures peer) {
            return peer.wire() == Wire.REST
                    && !(peer.binaryTensorData() && peer.dialect().lossyJson());
        }
    }

    /** Decides whether a REST request is forwarded to a REST server as received. */
    static final class PassThroughRule {
        private PassThroughRule() {}

        /** Whether it is forwarded to all of these servers as received. */
        static boolean appliesTo(List<ServerFeatures> peers, RestRequest read) {
            for (ServerFeatures peer : peers) {
                if (!appliesTo(peer, read)) {
                    return false;
                }
            }
            return true;
        }

        /**
         * Whether the server, which may be sent a body of this kind as received, reads it without losing anything, and
         * responds in the requested form.
         */
        static boolean appliesTo(ServerFeatures peer, RestRequest read) {
            OutputForms outputs = read.outputForms();
            if (read.contestedInputs()
                    || (!read.base64Inputs().isEmpty() && !peer.dialect().base64())
                    || !outputs.base64().isEmpty()
                    || read.request().parameters().containsKey(StreamParameters.EMPTY_FINAL)
                    || !peer.dialect().acceptsId(read.request().id())
                    || (!peer.dialect().classifies()
                            && read.request().outputs().stream().anyMatch(RequestedOutput::classified))
                    || ((read.foreignParameter() != null || read.hasNull()) && !peer.anyParameter())
                    || (!peer.sharedMemory() && inSharedMemory(read.request()))) {
                return false;
            }
            if (!peer.binaryTensorData()) {
                return !outputs.anyBinary();
            }
            if (peer.dialect().lossyJson()) {
                return (read.allBinary() || peer.dialect().mayInspectJson())
                        && outputs.allBinary(read.request().outputs())
                        && (outputs.binaryByDefault() || !peer.dialect().binaryOutputTwice());
            }
            return outputs.explicit(read.request().outputs());
        }

        private static boolean inSharedMemory(InferRequest request) {
            for (Tensor input : request.inputs()) {
                if (input.shared()) {
                    return true;
                }
            }
            for (RequestedOutput output : request.outputs()) {
                if (output.shared()) {
                    return true;
                }
            }
            return false;
        }
    }
}
