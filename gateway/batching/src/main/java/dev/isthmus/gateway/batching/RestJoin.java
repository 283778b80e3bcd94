package dev.isthmus.gateway.batching;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import dev.isthmus.transcoder.rest.RestRequestReader;
import dev.isthmus.transcoder.rest.RestResponseReader;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Joins on the REST wire. A response that is JSON is divided as text ({@link JsonRows}), so that each part has the
 * server's digits; one with binary data is decoded, and each part written in the form that its request asks for.
 */
final class RestJoin implements JoinCodec {
    private final WireLimits limits;

    RestJoin(WireLimits limits) {
        this.limits = limits.withSharedMemory(true);
    }

    @Override
    public @Nullable ReadRequest read(
            ByteBufAllocator allocator, ModelRef model, InferMessage message, ServerFeatures peer) {
        if (!(message instanceof InferMessage.RestMessage rest)) {
            return null;
        }
        RestBody body = rest.body();
        var reader = new RestRequestReader(allocator, model, body.jsonLength(), peer.anyParameter(), limits);
        RestRequest read = feed(body.content(), reader::feed, reader::finish, reader::release);
        if (read.contestedInputs() || !read.base64Inputs().isEmpty() || read.foreignParameter() != null) {
            read.request().release();
            return null;
        }
        return new ReadRequest(read.request(), new JoinForm(Wire.REST, false, read.outputForms(), read.plainInputs()));
    }

    /** Reads component by component, as a composite would be flattened. */
    private static <T> T feed(ByteBuf content, Consumer<ByteBuf> feed, Supplier<T> finish, Runnable release) {
        try {
            if (content instanceof CompositeByteBuf composite) {
                for (ByteBuf part : composite.decompose(composite.readerIndex(), composite.readableBytes())) {
                    feed.accept(part.duplicate());
                }
            } else {
                feed.accept(content.duplicate());
            }
            return finish.get();
        } finally {
            release.run();
        }
    }

    @Override
    public InferMessage write(ByteBufAllocator allocator, InferRequest joined, JoinForm form, ServerFeatures peer) {
        return new InferMessage.RestMessage(RestWriter.request(allocator, joined, peer, form.plainInputs()));
    }

    @Override
    public @Nullable List<InferMessage> split(
            ByteBufAllocator allocator, InferMessage response, JoinForm form, ServerFeatures peer, RowOwners owners) {
        if (!(response instanceof InferMessage.RestMessage rest)) {
            response.release();
            return null;
        }
        try {
            if (!rest.body().binary() && !peer.binaryTensorData()) {
                return JsonRows.split(allocator, rest.body().content(), owners);
            }
            List<InferResponse> parts = DecodedParts.of(decoded(allocator, rest.body()), owners);
            return parts == null
                    ? null
                    : DecodedParts.written(
                            parts,
                            part -> new InferMessage.RestMessage(RestWriter.response(allocator, part, form.outputs())));
        } finally {
            rest.release();
        }
    }

    private InferResponse decoded(ByteBufAllocator allocator, RestBody body) {
        var reader = new RestResponseReader(allocator, body.jsonLength(), limits);
        return feed(body.content(), reader::feed, reader::finish, reader::release);
    }
}
