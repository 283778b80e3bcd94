package dev.isthmus.gateway.batching;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.ProtobufWriter;
import dev.isthmus.transcoder.rest.OutputForms;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Joins on the protobuf wire. Requests are joined with raw contents; responses have the contents of the requests. */
final class ProtobufJoin implements JoinCodec {
    private static final JoinForm RAW = new JoinForm(Wire.PROTOBUF, false, OutputForms.JSON, Set.of());
    private static final JoinForm TYPED = new JoinForm(Wire.PROTOBUF, true, OutputForms.JSON, Set.of());

    private final WireLimits limits;

    ProtobufJoin(WireLimits limits) {
        this.limits = limits.withSharedMemory(true);
    }

    @Override
    public @Nullable ReadRequest read(
            ByteBufAllocator allocator, ModelRef model, InferMessage message, ServerFeatures peer) {
        if (!(message instanceof InferMessage.ProtobufMessage encoded)) {
            return null;
        }
        boolean typed = ProtobufReader.typed(encoded.message());
        InferRequest request = ProtobufReader.request(encoded.retained().message(), limits);
        return new ReadRequest(request.withModel(model), typed ? TYPED : RAW);
    }

    @Override
    public InferMessage write(ByteBufAllocator allocator, InferRequest joined, JoinForm form, ServerFeatures peer) {
        return new InferMessage.ProtobufMessage(ProtobufWriter.request(allocator, joined, peer.dialect()));
    }

    @Override
    public @Nullable List<InferMessage> split(
            ByteBufAllocator allocator, InferMessage response, JoinForm form, ServerFeatures peer, RowOwners owners) {
        if (!(response instanceof InferMessage.ProtobufMessage encoded)) {
            response.release();
            return null;
        }
        List<InferResponse> parts;
        boolean typed;
        try {
            typed = typed(encoded.message(), form, peer);
            parts = DecodedParts.of(ProtobufReader.response(encoded.retained().message(), limits, Map.of()), owners);
        } finally {
            response.release();
        }
        return parts == null
                ? null
                : DecodedParts.written(
                        parts,
                        part -> new InferMessage.ProtobufMessage(ProtobufWriter.response(allocator, part, typed)));
    }

    /** A server that answers raw contents to the joined request would answer typed contents to typed ones. */
    private static boolean typed(ByteBuf response, JoinForm form, ServerFeatures peer) {
        return form.typed() ? !peer.dialect().alwaysRaw() : ProtobufReader.typed(response);
    }
}
