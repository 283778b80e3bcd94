package dev.isthmus.gateway.cache;

import dev.isthmus.gateway.call.SharedHeaders;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.protobuf.ProtobufSplice;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A response, copied to the heap in the form in which its server sent it, so that it may be read by any thread, and
 * nobody has to release it. Immutable.
 */
final class StoredResponse {
    /** What an entry takes beside the bytes of its message and headers, roughly. */
    private static final int OVERHEAD = 512;

    private final Map<String, String> headers;
    private final String served;
    private final long storedNanos;
    private final int bytes;
    /** Of an encoded message. */
    private final byte[] encoded;
    /** Of the JSON of a REST body; null for a protobuf message and for a decoded one. */
    private final @Nullable Long jsonLength;
    /** With tensors on the heap; null if it is encoded. */
    private final @Nullable InferResponse decoded;

    /**
     * Copies a response.
     *
     * @param message borrowed
     * @param headers of the server's response; those of one request are left out
     * @param served the model, as its server calls it
     */
    StoredResponse(InferMessage message, Map<String, String> headers, String served, long nowNanos) {
        this.headers = SharedHeaders.of(headers);
        this.served = served;
        this.storedNanos = nowNanos;
        this.bytes = (int) Math.min(Integer.MAX_VALUE, OVERHEAD + length(this.headers) + message.bytes());
        this.encoded = switch (message) {
            case InferMessage.ProtobufMessage protobuf -> withoutId(protobuf.message());
            case InferMessage.RestMessage rest ->
                ByteBufUtil.getBytes(rest.body().content());
            case InferMessage.Response response -> new byte[0];
            case InferMessage.DecodedRequest request -> throw new IllegalArgumentException("a request is no response");
        };
        this.jsonLength =
                message instanceof InferMessage.RestMessage rest ? rest.body().jsonLength() : null;
        this.decoded = message instanceof InferMessage.Response response ? onHeap(response.response()) : null;
    }

    private static long length(Map<String, String> headers) {
        return headers.entrySet().stream()
                .mapToLong(each -> each.getKey().length() + each.getValue().length())
                .sum();
    }

    /** The id is that of the request that was sent. */
    private static byte[] withoutId(ByteBuf message) {
        ByteBuf without = ProtobufSplice.id(message.alloc(), message.retain(), "");
        try {
            return ByteBufUtil.getBytes(without);
        } finally {
            without.release();
        }
    }

    private static InferResponse onHeap(InferResponse response) {
        return new InferResponse(
                response.model(),
                "",
                response.parameters(),
                response.outputs().stream()
                        .map(output -> with(output, Unpooled.wrappedBuffer(ByteBufUtil.getBytes(output.data()))))
                        .toList());
    }

    private static Tensor with(Tensor tensor, ByteBuf data) {
        return new Tensor(tensor.name(), tensor.dataType(), tensor.shape(), tensor.parameters(), data);
    }

    /** The headers to send with it. */
    Map<String, String> headers() {
        return headers;
    }

    /** The model, as its server calls it. */
    String served() {
        return served;
    }

    /** When it was received, on the scale of {@link System#nanoTime()}. */
    long storedNanos() {
        return storedNanos;
    }

    /** The memory that it takes, in bytes. */
    int bytes() {
        return bytes;
    }

    /**
     * The response for another request, owned by the caller.
     *
     * @param id of that request; empty if it has none
     */
    InferMessage message(ByteBufAllocator allocator, String id) {
        if (decoded != null) {
            return new InferMessage.Response(new InferResponse(
                    decoded.model(),
                    id,
                    decoded.parameters(),
                    decoded.outputs().stream()
                            .map(output -> with(output, output.data().retainedSlice()))
                            .toList()));
        }
        ByteBuf content = Unpooled.wrappedBuffer(encoded);
        return jsonLength == null
                ? new InferMessage.ProtobufMessage(ProtobufSplice.id(allocator, content, id))
                : new InferMessage.RestMessage(new RestBody(content, jsonLength));
    }
}
