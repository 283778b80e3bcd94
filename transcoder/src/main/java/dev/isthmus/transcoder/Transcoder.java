package dev.isthmus.transcoder;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.ProtobufSplice;
import dev.isthmus.transcoder.protobuf.ProtobufWriter;
import dev.isthmus.transcoder.protobuf.RawRequest;
import dev.isthmus.transcoder.rest.JsonResponseText;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequestReader;
import dev.isthmus.transcoder.rest.RestResponseReader;
import dev.isthmus.transcoder.rest.RestSplice;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Transcodes messages between wires. A message already on the wanted wire and in the wanted form is passed through
 * unchanged; any other is transcoded exactly once.
 */
public final class Transcoder {
    /** The bytes of a response that are read between two reports of the memory held. */
    private static final int STEP = 256 << 10;

    private final WireLimits limits;
    private final WireLimits ofResponses;

    public Transcoder(WireLimits limits) {
        this.limits = limits;
        this.ofResponses = limits.withSharedMemory(true);
    }

    /** The limits of the messages that it reads. */
    public WireLimits limits() {
        return limits;
    }

    /**
     * Converts a request to an upstream's wire.
     *
     * @param message taken; not a REST message, as REST bodies are read while they arrive
     * @throws OipException INVALID_ARGUMENT if the peer does not support it
     */
    public InferMessage request(ByteBufAllocator allocator, InferMessage message, ServerFeatures peer) {
        return request(allocator, message, peer, null);
    }

    /**
     * As {@link #request(ByteBufAllocator, InferMessage, ServerFeatures)}.
     *
     * @param shown receives the request's outline, once, and may refuse it; null for nobody
     */
    public InferMessage request(
            ByteBufAllocator allocator,
            InferMessage message,
            ServerFeatures peer,
            @Nullable Consumer<RequestOutline> shown) {
        WireLimits allowed = limits.withSharedMemory(peer.sharedMemory());
        boolean checked = false;
        if (message instanceof InferMessage.ProtobufMessage encoded && peer.wire() == Wire.PROTOBUF) {
            if (acceptsUnchanged(encoded, peer, allowed, shown)) {
                return encoded;
            }
            checked = true;
        }
        InferRequest request = expressible(decoded(message, allowed), peer);
        if (shown != null && !checked) {
            show(request, shown);
        }
        return switch (peer.wire()) {
            case DECODED -> new InferMessage.DecodedRequest(request);
            case PROTOBUF ->
                new InferMessage.ProtobufMessage(ProtobufWriter.request(allocator, request, peer.dialect()));
            case REST ->
                new InferMessage.RestMessage(RestWriter.request(allocator, request, peer, plainInputs(message, peer)));
        };
    }

    /**
     * Decodes a request.
     *
     * @param message taken
     * @param peer the server that it is meant for
     * @throws OipException INVALID_ARGUMENT if it is invalid, or has tensors in shared memory, which the peer does not
     *     support
     */
    public InferMessage.DecodedRequest decoded(InferMessage.ProtobufMessage message, ServerFeatures peer) {
        return new InferMessage.DecodedRequest(decoded(message, limits.withSharedMemory(peer.sharedMemory())));
    }

    private static void show(InferRequest request, Consumer<RequestOutline> shown) {
        try {
            shown.accept(RequestOutline.of(request));
        } catch (RuntimeException refused) {
            request.release();
            throw refused;
        }
    }

    private static InferRequest decoded(InferMessage message, WireLimits limits) {
        return switch (message) {
            case InferMessage.ProtobufMessage encoded -> ProtobufReader.request(encoded.message(), limits);
            case InferMessage.DecodedRequest decoded -> permitted(decoded.request(), limits);
            case InferMessage.RestMessage rest -> throw unexpected(rest);
            case InferMessage.Response response -> throw unexpected(response);
        };
    }

    /**
     * Converts a request whose binary data is still arriving to an upstream's wire, which must be PROTOBUF.
     *
     * @param head the request as returned by {@code data}, with the upstream's model name
     * @param data the reader of the binary data
     * @throws OipException INVALID_ARGUMENT if the peer does not support it
     */
    public RestParts parts(ByteBufAllocator allocator, InferRequest head, RestRequestReader data, ServerFeatures peer) {
        InferRequest permitted = expressible(permitted(head, limits.withSharedMemory(peer.sharedMemory())), peer);
        return new RestParts(
                allocator,
                ProtobufWriter.requestHead(allocator, permitted, peer.dialect()),
                data,
                permitted.inputs().size());
    }

    /**
     * The parameters of the outputs that a ModelInferRequest requests in shared memory, by name.
     *
     * @param message borrowed
     * @throws OipException INVALID_ARGUMENT if the message violates the protocol
     */
    public Map<String, Map<String, Parameter>> sharedOutputs(ByteBuf message) {
        return ProtobufReader.sharedOutputs(message, limits);
    }

    /**
     * Checks the number of inputs and of requested outputs.
     *
     * @throws OipException INVALID_ARGUMENT if there are more than the limit
     */
    public void requireTensors(RawRequest request) {
        requireTensors(request.inputs(), "inputs");
        requireTensors(request.outputs(), "requested outputs");
    }

    private void requireTensors(int count, String what) {
        if (count > limits.tensors()) {
            throw OipException.invalid(what + ": at most " + limits.tensors() + " are accepted");
        }
    }

    /** Whether the request can be sent to this server unchanged. */
    public static boolean acceptsUnchanged(RawRequest request, ServerFeatures peer) {
        return peer.wire() == Wire.PROTOBUF && acceptsUnchanged(request.contested(), peer.dialect());
    }

    /** Checks a request that may have been read for another server. */
    private static InferRequest permitted(InferRequest request, WireLimits limits) {
        try {
            request.inputs()
                    .forEach(input -> TensorCheck.INPUT.requireMemory(input.name(), input.parameters(), limits));
            request.outputs()
                    .forEach(output -> TensorCheck.REQUESTED.requireMemory(output.name(), output.parameters(), limits));
            return request;
        } catch (OipException e) {
            request.release();
            throw e;
        }
    }

    /** Refuses what the server would not get, or would ignore: the client would take the response for another. */
    private static InferRequest expressible(InferRequest request, ServerFeatures peer) {
        try {
            requireParameters(request.parameters(), peer);
            for (Tensor input : request.inputs()) {
                requireParameters(input.parameters(), peer);
            }
            for (RequestedOutput output : request.outputs()) {
                requireParameters(output.parameters(), peer);
                if (output.classified() && !peer.dialect().classifies()) {
                    throw OipException.invalid(
                            "output '" + output.name() + "': the model's server does not support classification");
                }
            }
            return request;
        } catch (OipException refused) {
            request.release();
            throw refused;
        }
    }

    private static void requireParameters(Map<String, Parameter> parameters, ServerFeatures peer) {
        for (Map.Entry<String, Parameter> parameter : parameters.entrySet()) {
            if (parameter.getValue() instanceof Parameter.Json && !peer.anyParameter()) {
                throw OipException.invalid("parameter '" + parameter.getKey() + "': a string, a number of at most 64"
                        + " bits or a boolean is expected in a request to this model");
            }
        }
    }

    /** The inputs sent as JSON even to a server with binary data, because its models may inspect the JSON. */
    private static Set<String> plainInputs(InferMessage message, ServerFeatures peer) {
        return message instanceof InferMessage.DecodedRequest request
                        && peer.dialect().mayInspectJson()
                ? request.plainInputs()
                : Set.of();
    }

    private static boolean acceptsUnchanged(
            InferMessage.ProtobufMessage encoded,
            ServerFeatures peer,
            WireLimits limits,
            @Nullable Consumer<RequestOutline> shown) {
        try {
            return acceptsUnchanged(ProtobufReader.check(encoded.message(), limits, shown), peer.dialect());
        } catch (RuntimeException | OutOfMemoryError e) {
            encoded.release();
            throw e;
        }
    }

    private static boolean acceptsUnchanged(ProtobufReader.Contested contested, Dialect dialect) {
        return !(contested.typed() && dialect.alwaysRaw())
                && (!contested.emptyContents() || dialect.emptyContents())
                && (!contested.wideParameters() || dialect.wideParameters())
                && (!contested.classified() || dialect.classifies())
                && dialect.acceptsId(contested.id());
    }

    /**
     * Converts an upstream's response to the client's wire.
     *
     * @param message taken
     */
    public InferMessage response(ByteBufAllocator allocator, InferMessage message, ResponseForm form) {
        return response(allocator, message, form, bytes -> {});
    }

    /**
     * As {@link #response(ByteBufAllocator, InferMessage, ResponseForm)}.
     *
     * @param held receives the bytes of memory held while a REST response is read, as they grow; may throw
     */
    public InferMessage response(
            ByteBufAllocator allocator, InferMessage message, ResponseForm form, LongConsumer held) {
        boolean same = message.wire() == form.wire() && form.untouched();
        if (same
                && (!(message instanceof InferMessage.RestMessage rest)
                        || isJson(allocator, rest.body(), form, held))) {
            return form.model() == null ? message : renamed(allocator, message, form.model());
        }
        InferResponse named = decoded(allocator, message, form, held);
        return switch (form.wire()) {
            case DECODED -> new InferMessage.Response(named);
            case PROTOBUF -> new InferMessage.ProtobufMessage(ProtobufWriter.response(allocator, named, form.typed()));
            case REST -> new InferMessage.RestMessage(RestWriter.response(allocator, named, form.outputs()));
        };
    }

    /**
     * The response, marked as the last to a request of a stream, as Triton's are.
     *
     * @param message taken; a ModelInferResponse
     */
    public static InferMessage last(ByteBufAllocator allocator, InferMessage message) {
        if (message instanceof InferMessage.ProtobufMessage encoded) {
            return new InferMessage.ProtobufMessage(ProtobufSplice.last(allocator, encoded.message()));
        }
        throw unexpected(message);
    }

    private InferResponse decoded(
            ByteBufAllocator allocator, InferMessage message, ResponseForm form, LongConsumer held) {
        InferResponse response = switch (message) {
            case InferMessage.Response decoded -> decoded.response();
            case InferMessage.ProtobufMessage encoded ->
                ProtobufReader.response(encoded.message(), ofResponses, form.sharedOutputs());
            case InferMessage.RestMessage rest -> read(allocator, rest.body(), form, held);
            case InferMessage.DecodedRequest request -> throw unexpected(request);
        };
        InferResponse echoed = form.id() == null ? response : response.withId(form.id());
        return form.model() == null ? echoed : echoed.withModelName(form.model());
    }

    /** Whether {@link #text} applies to this response: it is transcoded for a REST client. */
    public static boolean writesText(InferMessage message, ResponseForm form) {
        return form.wire() == Wire.REST && !(message.wire() == Wire.REST && form.untouched());
    }

    /**
     * As {@link #response}, for a response that can be written in parts.
     *
     * @param message taken
     * @param held as for {@link #response(ByteBufAllocator, InferMessage, ResponseForm, LongConsumer)}
     */
    public JsonResponseText text(
            ByteBufAllocator allocator, InferMessage message, ResponseForm form, LongConsumer held) {
        return new JsonResponseText(allocator, decoded(allocator, message, form, held), form.outputs());
    }

    private static InferMessage renamed(ByteBufAllocator allocator, InferMessage message, String model) {
        return switch (message) {
            case InferMessage.ProtobufMessage encoded ->
                new InferMessage.ProtobufMessage(
                        ProtobufSplice.response(allocator, encoded.message(), ModelRef.of(model)));
            case InferMessage.RestMessage rest ->
                new InferMessage.RestMessage(RestSplice.modelName(allocator, rest.body(), model));
            case InferMessage.Response decoded ->
                new InferMessage.Response(decoded.response().withModelName(model));
            case InferMessage.DecodedRequest request -> throw unexpected(request);
        };
    }

    /**
     * Requires that a response to be passed through is complete and has as many elements as its shapes say; releases it
     * if not.
     *
     * @return whether it is JSON outside the data of its tensors, too
     */
    private boolean isJson(ByteBufAllocator allocator, RestBody body, ResponseForm form, LongConsumer held) {
        RestResponseReader reader = passing(allocator, body.jsonLength(), form);
        try {
            feed(reader, body.content(), held);
            reader.end();
            return !reader.hasStrayWord();
        } catch (RuntimeException e) {
            body.release();
            throw e;
        } finally {
            reader.release();
        }
    }

    /**
     * A reader that validates a REST response passed through in parts; see {@link ResponseForm#passesParts}.
     *
     * @param jsonLength as in {@link RestBody#jsonLength()}
     */
    public RestResponseReader passing(ByteBufAllocator allocator, long jsonLength, ResponseForm form) {
        return RestResponseReader.passing(allocator, jsonLength, ofResponses, form.sharedOutputs());
    }

    private InferResponse read(ByteBufAllocator allocator, RestBody body, ResponseForm form, LongConsumer held) {
        var reader = new RestResponseReader(allocator, body.jsonLength(), ofResponses, form.sharedOutputs());
        try {
            feed(reader, body.content(), held);
            return reader.finish();
        } finally {
            reader.release();
            body.release();
        }
    }

    /** @param part borrowed; its indices are restored */
    private static void feed(RestResponseReader reader, ByteBuf part, LongConsumer held) {
        if (part instanceof CompositeByteBuf composite) {
            // Component by component: it would otherwise be flattened.
            for (ByteBuf component : composite) {
                feed(reader, component, held);
            }
            return;
        }
        int from = part.readerIndex();
        int end = part.writerIndex();
        try {
            for (int at = from; at < end; at += STEP) {
                reader.feed(part.setIndex(at, Math.min(at + STEP, end)));
                held.accept(reader.held());
            }
        } finally {
            part.setIndex(from, end);
        }
    }

    private static OipException unexpected(InferMessage message) {
        message.release();
        return new OipException(
                ErrorCode.INTERNAL, "a message on the " + message.wire() + " wire is not supported here");
    }
}
