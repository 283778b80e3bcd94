package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.buffer.MessageSplice;
import dev.isthmus.transcoder.message.Dialect;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Encodes inference messages for the protobuf wire; tensors are written as raw contents without copying. */
public final class ProtobufWriter {
    private static final int CONTENTS = 5;
    private static final int RAW_INPUT_CONTENTS = 7;
    private static final int RAW_OUTPUT_CONTENTS = 6;

    private ProtobufWriter() {}

    /**
     * Encodes a ModelInferRequest.
     *
     * @param request taken
     * @param dialect the server's dialect: double and uint64 parameters are sent as strings if it does not support
     *     them, and an unsupported id is left out
     */
    public static ByteBuf request(ByteBufAllocator allocator, InferRequest request, Dialect dialect) {
        try {
            return withRaw(allocator, requestHead(allocator, request, dialect), RAW_INPUT_CONTENTS, request.inputs());
        } finally {
            request.release();
        }
    }

    /**
     * Encodes a ModelInferRequest without its raw contents. For each tensor that is not in shared memory, {@link
     * #rawInputHead} and the tensor's bytes must follow.
     *
     * @param request borrowed; the data of its tensors is not read
     * @param dialect as in {@link #request}
     */
    public static ByteBuf requestHead(ByteBufAllocator allocator, InferRequest request, Dialect dialect) {
        boolean wideParameters = dialect.wideParameters();
        return filled(allocator.buffer(), head -> {
            string(head, 1, request.model().name());
            string(head, 2, request.model().version());
            string(head, 3, dialect.acceptsId(request.id()) ? request.id() : "");
            parameters(head, 4, request.parameters(), wideParameters);
            for (Tensor input : request.inputs()) {
                message(head, 5, head(allocator, input, input.parameters(), wideParameters));
            }
            for (RequestedOutput output : request.outputs()) {
                message(head, 6, filled(allocator.buffer(), nested -> {
                    string(nested, 1, output.name());
                    parameters(nested, 2, output.parameters(), wideParameters);
                }));
            }
        });
    }

    /** The buffer with its content; it is released if memory runs out meanwhile. */
    static ByteBuf filled(ByteBuf buffer, Consumer<ByteBuf> content) {
        try {
            content.accept(buffer);
            return buffer;
        } catch (RuntimeException | OutOfMemoryError e) {
            buffer.release();
            throw e;
        }
    }

    /** The bytes that {@link #rawInputHead} writes. */
    public static int rawInputHeadSize(long size) {
        return 1 + varintSize(size);
    }

    /** Writes the tag and length of a raw input of {@code size} bytes. */
    public static void rawInputHead(ByteBuf out, long size) {
        tag(out, RAW_INPUT_CONTENTS, ProtoCursor.BYTES);
        varint(out, size);
    }

    /**
     * Encodes a ModelInferResponse.
     *
     * @param response taken
     * @param typed whether tensors are written as typed contents; if any datatype has no such field, all are raw
     */
    public static ByteBuf response(ByteBufAllocator allocator, InferResponse response, boolean typed) {
        boolean contents =
                typed && response.outputs().stream().allMatch(output -> TypedContents.supports(output.dataType()));
        try {
            ByteBuf head = filled(allocator.buffer(), out -> responseHead(allocator, out, response, contents));
            return contents ? head : withRaw(allocator, head, RAW_OUTPUT_CONTENTS, response.outputs());
        } finally {
            response.release();
        }
    }

    /** @param contents whether the tensors have their contents */
    private static void responseHead(
            ByteBufAllocator allocator, ByteBuf out, InferResponse response, boolean contents) {
        string(out, 1, response.model().name());
        string(out, 2, response.model().version());
        string(out, 3, response.id());
        parameters(out, 4, response.parameters(), true);
        for (Tensor output : response.outputs()) {
            message(out, 5, filled(head(allocator, output, output.responseParameters(), true), nested -> {
                if (contents && !output.shared()) {
                    message(nested, CONTENTS, TypedContents.written(allocator, output));
                }
            }));
        }
    }

    /** Encodes a tensor with these parameters, without its elements. */
    private static ByteBuf head(ByteBufAllocator allocator, Tensor tensor, Map<String, Parameter> named, boolean wide) {
        return filled(allocator.buffer(), nested -> {
            string(nested, 1, tensor.name());
            string(nested, 2, tensor.dataType().name());
            shape(allocator, nested, tensor.shape());
            parameters(nested, 4, named, wide);
        });
    }

    private static void shape(ByteBufAllocator allocator, ByteBuf out, Shape shape) {
        if (shape.rank() == 0) {
            return;
        }
        message(out, 3, filled(allocator.buffer(shape.rank() * 5), packed -> {
            for (int i = 0; i < shape.rank(); i++) {
                varint(packed, shape.extent(i));
            }
        }));
    }

    /**
     * Appends the tensors' raw contents to the head: small ones are copied, others become components.
     *
     * @param head taken
     * @param tensors borrowed
     */
    private static ByteBuf withRaw(ByteBufAllocator allocator, ByteBuf head, int field, List<Tensor> tensors) {
        MessageSplice whole = new MessageSplice(allocator, head);
        try {
            for (Tensor tensor : tensors) {
                ByteBuf data = tensor.data();
                // Servers expect raw inputs only for tensors in the message; clients expect raw outputs for all, as
                // Triton sends them.
                if (!tensor.shared() || field != RAW_INPUT_CONTENTS) {
                    tag(whole.tail(), field, ProtoCursor.BYTES);
                    varint(whole.tail(), data.readableBytes());
                    whole.part(data, data.readerIndex(), data.readableBytes());
                }
            }
            return whole.take();
        } finally {
            whole.release();
        }
    }

    /**
     * Skips parameters that protobuf cannot represent: REST responses may have them; such requests are rejected before.
     */
    static void parameters(ByteBuf out, int field, Map<String, Parameter> parameters, boolean wide) {
        for (Map.Entry<String, Parameter> parameter : parameters.entrySet()) {
            if (parameter.getValue() instanceof Parameter.Json) {
                continue;
            }
            Parameter given = Parameter.signed(parameter.getKey(), parameter.getValue());
            Parameter value = wide ? given : narrowed(given);
            message(out, field, filled(out.alloc().buffer(64), entry -> {
                string(entry, 1, parameter.getKey());
                message(entry, 2, filled(out.alloc().buffer(16), written -> value(written, value)));
            }));
        }
    }

    private static Parameter narrowed(Parameter parameter) {
        boolean wide = parameter instanceof Parameter.Float64 || parameter instanceof Parameter.Uint64;
        return wide ? new Parameter.Text(parameter.text()) : parameter;
    }

    private static void value(ByteBuf out, Parameter parameter) {
        switch (parameter) {
            case Parameter.Bool bool -> {
                tag(out, 1, ProtoCursor.VARINT);
                out.writeByte(bool.value() ? 1 : 0);
            }
            case Parameter.Int64 int64 -> {
                tag(out, 2, ProtoCursor.VARINT);
                varint(out, int64.value());
            }
            case Parameter.Text text -> text(out, 3, text.value());
            case Parameter.Float64 float64 -> {
                tag(out, 4, ProtoCursor.FIXED64);
                out.writeLongLE(Double.doubleToRawLongBits(float64.value()));
            }
            case Parameter.Uint64 uint64 -> {
                tag(out, 5, ProtoCursor.VARINT);
                varint(out, uint64.value());
            }
            case Parameter.Json json ->
                throw new OipException(ErrorCode.INTERNAL, "protobuf has no parameter for " + json.text());
        }
    }

    /** Writes a string field unless it is empty, which is the default. */
    static void string(ByteBuf out, int field, String value) {
        if (!value.isEmpty()) {
            text(out, field, value);
        }
    }

    static void text(ByteBuf out, int field, String value) {
        tag(out, field, ProtoCursor.BYTES);
        varint(out, ByteBufUtil.utf8Bytes(value));
        ByteBufUtil.writeUtf8(out, value);
    }

    /** Writes a length-delimited field; {@code nested} is taken. */
    static void message(ByteBuf out, int field, ByteBuf nested) {
        try {
            tag(out, field, ProtoCursor.BYTES);
            varint(out, nested.readableBytes());
            out.writeBytes(nested);
        } finally {
            nested.release();
        }
    }

    static void tag(ByteBuf out, int field, int wireType) {
        varint(out, (long) field << 3 | wireType);
    }

    /** The bytes that {@link #varint} writes. */
    static int varintSize(long value) {
        return Math.max(1, (Long.SIZE - Long.numberOfLeadingZeros(value) + 6) / 7);
    }

    static void varint(ByteBuf out, long value) {
        long rest = value;
        while ((rest & ~0x7fL) != 0) {
            out.writeByte((int) (rest & 0x7f) | 0x80);
            rest >>>= 7;
        }
        out.writeByte((int) rest);
    }
}
