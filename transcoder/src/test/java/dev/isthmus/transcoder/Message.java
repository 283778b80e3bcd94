package dev.isthmus.transcoder;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * An inference request or response as a value: two are equal if all fields, the order of parameters and all bits of the
 * tensors are.
 *
 * @param request false for a response, which has no requested outputs
 */
record Message(
        boolean request,
        ModelRef model,
        String id,
        List<Map.Entry<String, Parameter>> parameters,
        List<Value> tensors,
        List<Wanted> outputs) {

    /** A tensor; {@code raw} is read only by absolute indices. */
    record Value(
            String name, DataType type, Shape shape, List<Map.Entry<String, Parameter>> parameters, ByteBuffer raw) {

        static Value of(Tensor tensor) {
            return new Value(
                    tensor.name(),
                    tensor.dataType(),
                    tensor.shape(),
                    entries(tensor.parameters()),
                    ByteBuffer.wrap(ByteBufUtil.getBytes(tensor.data())).order(ByteOrder.LITTLE_ENDIAN));
        }

        Tensor tensor(ByteBufAllocator allocator) {
            ByteBuf data = allocator.buffer(Math.max(raw.limit(), 1)).writeBytes(raw.duplicate());
            return new Tensor(name, type, shape, map(parameters), data);
        }

        /**
         * The tensor after a round trip through JSON: one NaN, one true, and base64 for all elements if one is not
         * text.
         */
        Value inJson() {
            if (type == DataType.BYTES) {
                return allText() ? this : new Value(name, type, shape, base64(parameters), raw);
            }
            ByteBuffer canonical = ByteBuffer.allocate(raw.limit()).order(ByteOrder.LITTLE_ENDIAN);
            for (int at = 0; at < raw.limit(); at += type.size()) {
                switch (type) {
                    case BOOL -> canonical.put((byte) (raw.get(at) == 0 ? 0 : 1));
                    case FP16 -> canonical.putShort((short) canonical(raw.getShort(at), 0x7c00, 0x7e00));
                    case BF16 -> canonical.putShort((short) canonical(raw.getShort(at), 0x7f80, 0x7fc0));
                    case FP32 -> canonical.putInt(Float.floatToIntBits(raw.getFloat(at)));
                    case FP64 -> canonical.putLong(Double.doubleToLongBits(raw.getDouble(at)));
                    default -> canonical.put(raw.slice(at, type.size()));
                }
            }
            return new Value(name, type, shape, parameters, canonical.flip());
        }

        private static int canonical(short bits, int infinity, int nan) {
            return (bits & 0x7fff) > infinity ? nan : bits;
        }

        private boolean allText() {
            for (int at = 0; at < raw.limit(); ) {
                int length = raw.getInt(at);
                try {
                    StandardCharsets.UTF_8.newDecoder().decode(raw.slice(at + 4, length));
                } catch (CharacterCodingException e) {
                    return false;
                }
                at += 4 + length;
            }
            return true;
        }

        private static List<Map.Entry<String, Parameter>> base64(List<Map.Entry<String, Parameter>> parameters) {
            List<Map.Entry<String, Parameter>> changed = new ArrayList<>(parameters);
            changed.removeIf(entry -> entry.getKey().equals("content_type"));
            return List.copyOf(changed);
        }

        @Override
        public String toString() {
            byte[] bytes = new byte[raw.limit()];
            raw.get(0, bytes);
            return "'" + name + "' " + type + shape + parameters + ":"
                    + HexFormat.of().formatHex(bytes);
        }
    }

    /** Whether it can be sent to a server without binary data: plain JSON cannot represent BYTES that are not text. */
    boolean fitsJson() {
        return !request || tensors.stream().allMatch(value -> value.type() != DataType.BYTES || value.allText());
    }

    /** A requested output. */
    record Wanted(String name, List<Map.Entry<String, Parameter>> parameters) {}

    static Message of(InferRequest request) {
        return new Message(
                true,
                request.model(),
                request.id(),
                entries(request.parameters()),
                request.inputs().stream().map(Value::of).toList(),
                request.outputs().stream()
                        .map(output -> new Wanted(output.name(), entries(output.parameters())))
                        .toList());
    }

    static Message of(InferResponse response) {
        return new Message(
                false,
                response.model(),
                response.id(),
                entries(response.parameters()),
                response.outputs().stream().map(Value::of).toList(),
                List.of());
    }

    InferRequest toRequest(ByteBufAllocator allocator) {
        return new InferRequest(
                model,
                id,
                map(parameters),
                tensors(allocator),
                outputs.stream()
                        .map(output -> new RequestedOutput(output.name, map(output.parameters)))
                        .toList());
    }

    InferResponse toResponse(ByteBufAllocator allocator) {
        return new InferResponse(model, id, map(parameters), tensors(allocator));
    }

    private List<Tensor> tensors(ByteBufAllocator allocator) {
        return tensors.stream().map(value -> value.tensor(allocator)).toList();
    }

    private static List<Map.Entry<String, Parameter>> entries(Map<String, Parameter> parameters) {
        return parameters.entrySet().stream()
                .map(entry -> Map.entry(entry.getKey(), entry.getValue()))
                .toList();
    }

    private static Map<String, Parameter> map(List<Map.Entry<String, Parameter>> entries) {
        Map<String, Parameter> map = new LinkedHashMap<>();
        entries.forEach(entry -> map.put(entry.getKey(), entry.getValue()));
        return map;
    }
}
