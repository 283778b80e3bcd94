package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * BYTES inputs whose elements a REST client sends in base64. A server that decodes it by the parameter {@code
 * content_type} gets the text over either protocol, because it would decode bytes again; any other gets the bytes.
 */
public final class Base64Inputs {
    private static final String CODEC = "content_type";

    private Base64Inputs() {}

    /**
     * The request with the text of these inputs, which are bytes.
     *
     * @param request taken
     */
    static InferRequest encoded(ByteBufAllocator allocator, InferRequest request, Set<String> names) {
        return changed(request, names, input -> {
            Map<String, Parameter> parameters = new LinkedHashMap<>(input.parameters());
            parameters.put(CODEC, new Parameter.Text("base64"));
            return with(input, parameters, converted(allocator, input.data(), Base64.getEncoder()::encode));
        });
    }

    /**
     * The request with the bytes of these inputs, which are text.
     *
     * @param request taken
     */
    public static InferRequest decoded(ByteBufAllocator allocator, InferRequest request, Set<String> names) {
        return changed(request, names, input -> {
            Map<String, Parameter> parameters = new LinkedHashMap<>(input.parameters());
            parameters.remove(CODEC);
            return with(input, parameters, decoded(allocator, input.data()));
        });
    }

    private static Tensor with(Tensor input, Map<String, Parameter> parameters, ByteBuf data) {
        return new Tensor(input.name(), input.dataType(), input.shape(), parameters, data);
    }

    private static InferRequest changed(InferRequest request, Set<String> names, UnaryOperator<Tensor> change) {
        if (names.isEmpty()) {
            return request;
        }
        List<Tensor> inputs = new ArrayList<>();
        try {
            for (Tensor input : request.inputs()) {
                inputs.add(names.contains(input.name()) ? change.apply(input) : input.retained());
            }
            return new InferRequest(request.model(), request.id(), request.parameters(), inputs, request.outputs());
        } catch (RuntimeException | OutOfMemoryError e) {
            inputs.forEach(Tensor::release);
            throw e;
        } finally {
            request.release();
        }
    }

    /**
     * The elements decoded, owned by the caller.
     *
     * @param elements borrowed
     * @throws IllegalArgumentException if any of them is not base64
     */
    static ByteBuf decoded(ByteBufAllocator allocator, ByteBuf elements) {
        return converted(allocator, elements, Base64.getDecoder()::decode);
    }

    private static ByteBuf converted(
            ByteBufAllocator allocator, ByteBuf elements, UnaryOperator<ByteBuffer> conversion) {
        ByteBuf out = allocator.buffer(elements.readableBytes());
        try {
            for (int at = elements.readerIndex(); at < elements.writerIndex(); ) {
                int length = elements.getIntLE(at);
                ByteBuffer bytes = conversion.apply(elements.nioBuffer(at + Integer.BYTES, length));
                out.writeIntLE(bytes.remaining()).writeBytes(bytes);
                at += Integer.BYTES + length;
            }
            return out;
        } catch (RuntimeException | OutOfMemoryError e) {
            out.release();
            throw e;
        }
    }
}
