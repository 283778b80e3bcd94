package dev.isthmus.transcoder;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.ProtobufWriter;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import dev.isthmus.transcoder.rest.RestRequestReader;
import dev.isthmus.transcoder.rest.RestResponseReader;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocatorMetric;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntSupplier;

/**
 * Encodes messages for a wire and decodes them, for tests that are independent of readers and writers. Has its own
 * allocator, so that {@link #held()} is always exact.
 */
final class Wires {
    static final long ALL_JSON = RestBody.ALL_JSON;

    private final UnpooledByteBufAllocator allocator;

    /** An encoded message; {@code jsonLength} is for REST only. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Encoded(byte[] bytes, long jsonLength) {}

    /**
     * A REST request and whether outputs are requested as binary data: for each named output, and for the name "" by
     * default.
     */
    record ReadRequest(Message message, Map<String, Boolean> binary) {}

    Wires(boolean direct) {
        allocator = new UnpooledByteBufAllocator(direct, true);
    }

    /** The bytes of buffers that are not released. */
    long held() {
        ByteBufAllocatorMetric metric = allocator.metric();
        return metric.usedHeapMemory() + metric.usedDirectMemory();
    }

    Encoded protobuf(Message message) {
        ByteBuf written = message.request()
                ? ProtobufWriter.request(allocator, message.toRequest(allocator), Dialect.GENERIC)
                : ProtobufWriter.response(allocator, message.toResponse(allocator), false);
        return encoded(written, ALL_JSON);
    }

    Encoded restRequest(Message message, boolean binary) {
        return encoded(RestWriter.request(
                allocator,
                message.toRequest(allocator),
                new ServerFeatures(Wire.REST, Dialect.TRITON, binary, false),
                Set.of()));
    }

    /** A response in which these outputs are binary. */
    Encoded restResponse(Message message, Set<String> binary) {
        Map<String, Boolean> forms = new HashMap<>();
        binary.forEach(name -> forms.put(name, true));
        return encoded(RestWriter.response(
                allocator, message.toResponse(allocator), new OutputForms(false, forms, Set.of(), NonFinite.TOKEN)));
    }

    private static Encoded encoded(RestBody body) {
        return encoded(body.content(), body.jsonLength());
    }

    private static Encoded encoded(ByteBuf written, long jsonLength) {
        try {
            return new Encoded(ByteBufUtil.getBytes(written), jsonLength);
        } finally {
            written.release();
        }
    }

    Message readRest(boolean request, ModelRef model, Encoded encoded, IntSupplier pieces) {
        return request ? readRestRequest(model, encoded, pieces).message() : readRestResponse(encoded, pieces);
    }

    Message readRest(boolean request, ModelRef model, Encoded encoded) {
        return readRest(request, model, encoded, Wires::whole);
    }

    ReadRequest readRestRequest(ModelRef model, Encoded encoded, IntSupplier pieces) {
        RestRequestReader reader =
                new RestRequestReader(allocator, model, encoded.jsonLength(), false, WireLimits.DEFAULT);
        try {
            feed(encoded.bytes(), pieces, reader::feed);
            RestRequest read = reader.finish();
            InferRequest request = read.request();
            try {
                Map<String, Boolean> binary = new HashMap<>();
                binary.put("", read.outputForms().binary(""));
                request.outputs()
                        .forEach(o -> binary.put(o.name(), read.outputForms().binary(o.name())));
                return new ReadRequest(Message.of(request), binary);
            } finally {
                request.release();
            }
        } finally {
            reader.release();
        }
    }

    private Message readRestResponse(Encoded encoded, IntSupplier pieces) {
        RestResponseReader reader = new RestResponseReader(allocator, encoded.jsonLength(), WireLimits.DEFAULT);
        try {
            feed(encoded.bytes(), pieces, reader::feed);
            InferResponse response = reader.finish();
            try {
                return Message.of(response);
            } finally {
                response.release();
            }
        } finally {
            reader.release();
        }
    }

    Message readProtobuf(boolean request, Encoded encoded, IntSupplier pieces) {
        CompositeByteBuf parts = allocator.compositeBuffer(Integer.MAX_VALUE);
        feed(encoded.bytes(), pieces, part -> parts.addComponent(true, part.retain()));
        if (request) {
            InferRequest read = ProtobufReader.request(parts, WireLimits.DEFAULT);
            try {
                return Message.of(read);
            } finally {
                read.release();
            }
        }
        InferResponse read = ProtobufReader.response(parts, WireLimits.DEFAULT, Map.of());
        try {
            return Message.of(read);
        } finally {
            read.release();
        }
    }

    Message readProtobuf(boolean request, Encoded encoded) {
        return readProtobuf(request, encoded, Wires::whole);
    }

    private static int whole() {
        return Integer.MAX_VALUE;
    }

    /** Passes the bytes in separate buffers of the given sizes. */
    private void feed(byte[] bytes, IntSupplier pieces, Consumer<ByteBuf> to) {
        int from = 0;
        do {
            int length = Math.min(pieces.getAsInt(), bytes.length - from);
            ByteBuf chunk = allocator.buffer(length + 3).writeZero(3);
            chunk.writeBytes(bytes, from, length).skipBytes(3);
            try {
                to.accept(chunk);
            } finally {
                chunk.release();
            }
            from += length;
        } while (from < bytes.length);
    }
}
