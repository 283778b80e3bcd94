package dev.isthmus.transcoder;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.ProtobufWriter;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestResponseReader;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;

/**
 * Turns a message of one wire into another's. A message that stands on the wanted wire already is passed on untouched; any
 * other is transcoded exactly once.
 */
public final class Transcoder {
    private final WireLimits limits;

    public Transcoder(WireLimits limits) {
        this.limits = limits;
    }

    /**
     * Puts a request on an upstream's wire.
     *
     * @param message taken; a REST message only when {@code wire} is REST, for REST bodies are read as they arrive
     * @param binary whether an upstream on the REST wire knows the binary tensor data extension
     */
    public InferMessage request(ByteBufAllocator allocator, InferMessage message, Wire wire, boolean binary) {
        if (message.wire() == wire) {
            return message;
        }
        InferRequest request = switch (message) {
            case InferMessage.Request decoded -> decoded.request();
            case InferMessage.Protobuf encoded -> ProtobufReader.request(encoded.message(), limits);
            case InferMessage.Rest rest -> throw unexpected(rest);
            case InferMessage.Response response -> throw unexpected(response);
        };
        return switch (wire) {
            case DECODED -> new InferMessage.Request(request);
            case PROTOBUF -> new InferMessage.Protobuf(ProtobufWriter.request(allocator, request));
            case REST -> new InferMessage.Rest(RestWriter.request(allocator, request, binary));
        };
    }

    /**
     * Puts an upstream's answer on the client's wire.
     *
     * @param message taken
     * @param forms how a REST client wants its outputs
     */
    public InferMessage response(ByteBufAllocator allocator, InferMessage message, Wire wire, OutputForms forms) {
        if (message.wire() == wire) {
            return message;
        }
        InferResponse response = switch (message) {
            case InferMessage.Response decoded -> decoded.response();
            case InferMessage.Protobuf encoded -> ProtobufReader.response(encoded.message(), limits);
            case InferMessage.Rest rest -> read(allocator, rest.body());
            case InferMessage.Request request -> throw unexpected(request);
        };
        return switch (wire) {
            case DECODED -> new InferMessage.Response(response);
            case PROTOBUF -> new InferMessage.Protobuf(ProtobufWriter.response(allocator, response));
            case REST -> new InferMessage.Rest(RestWriter.response(allocator, response, forms));
        };
    }

    private InferResponse read(ByteBufAllocator allocator, RestBody body) {
        RestResponseReader reader = new RestResponseReader(allocator, body.jsonLength(), limits);
        try {
            // Part by part: a composite would otherwise be flattened.
            if (body.content() instanceof CompositeByteBuf composite) {
                for (ByteBuf part : composite) {
                    reader.feed(part);
                }
            } else {
                reader.feed(body.content());
            }
            return reader.finish();
        } finally {
            reader.release();
            body.release();
        }
    }

    private static OipException unexpected(InferMessage message) {
        message.release();
        return new OipException(
                ErrorCode.INTERNAL, "a message on the " + message.wire() + " wire does not belong here");
    }
}
