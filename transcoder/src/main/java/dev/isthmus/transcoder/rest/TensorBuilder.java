package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.buffer.BufferCollector;
import dev.isthmus.transcoder.json.ValueReader;
import dev.isthmus.transcoder.message.TensorCheck;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A tensor while its JSON object and its binary data are read. Owns its data until {@link #take}. */
final class TensorBuilder {
    /**
     * The small parts that are consolidated into one, because Netty copies a buffer of many parts when it is written.
     */
    private static final int SMALL_PARTS = 256;

    private final ReaderSettings settings;
    /** Its position among the tensors, which names it until its name is known. */
    private final int index;

    private final Map<String, Parameter> parameters = new LinkedHashMap<>();
    private String name = "";
    private @Nullable DataType dataType;
    private @Nullable Shape shape;
    private @Nullable TensorData reader;
    private @Nullable DeferredData kept;
    private @Nullable ByteBuf data;
    private @Nullable BufferCollector binary;
    private final BytesElementCounter walk = new BytesElementCounter();
    private long binarySize = -1;
    private boolean base64;
    /** The bytes counted for it. */
    private long counted;

    TensorBuilder(ReaderSettings settings, int index) {
        this.settings = settings;
        this.index = index;
        settings.held().heap(HeldMemory.TENSOR);
    }

    String name() {
        return name;
    }

    /** The checks, whose failures name the tensor. */
    TensorCheck check() {
        return name.isEmpty() ? settings.check().at(index) : settings.check();
    }

    void name(String value) {
        check().requireName(value, settings.limits());
        settings.held().heap(value.length());
        name = value;
    }

    void shape(Shape value) {
        check().elementCount(name, value);
        shape = value;
    }

    void dataType(String value) {
        dataType = check().dataType(name, value);
    }

    Map<String, Parameter> parameters() {
        return parameters;
    }

    void binarySize(Parameter value) {
        if (!(value instanceof Parameter.Int64 size) || size.value() < 0) {
            throw check().failure(name, "binary_data_size: a number of bytes is expected");
        }
        binarySize = size.value();
    }

    /** The announced size of its binary data, in bytes; 0 for none. */
    long binarySize() {
        return Math.max(binarySize, 0);
    }

    /** The reader of the data, which comes next. If the datatype is not known yet, the text is retained. */
    ValueReader openData(int depth) {
        settings.held().heap(HeldMemory.DATA);
        DataType type = dataType;
        if (type == null) {
            kept = new DeferredData(check(), name, settings.limits(), depth, settings.held());
            return kept;
        }
        long expected = expectedBytes(type);
        reader = skims(type)
                ? new DataScanner(check(), name, type, settings.limits(), depth)
                : counts()
                        ? new ElementCounter(check(), name, type, settings.limits(), depth)
                        : reader(type, expected, depth);
        return reader;
    }

    private boolean skims(DataType type) {
        return settings.elements() == ElementUse.SKIMMED && DataScanner.supports(type);
    }

    /** Whether it belongs to a response that is passed through. */
    private boolean counts() {
        return settings.elements() == ElementUse.COUNTED;
    }

    private DataReader reader(DataType type, long expectedBytes, int depth) {
        return new DataReader(
                check(), name, type, expectedBytes, settings.limits().bodyBytes(), depth, settings.allocator());
    }

    private long expectedBytes(DataType type) {
        Shape known = shape;
        return known == null || !type.fixedSize() ? 0 : check().byteSize(name, type, known);
    }

    /** The tensor's object is complete. */
    void endObject() {
        required(name.isEmpty() ? null : name, "name");
        DataType type = required(dataType, "datatype");
        Shape extents = required(shape, "shape");
        if (kept != null) {
            reader = counts()
                    ? new ElementCounter(check(), name, type, settings.limits(), 0)
                    : reader(type, expectedBytes(type), 0);
            reader.read(kept.tokens());
            kept.release();
        }
        if (reader != null && reader.absent()) {
            settings.foreign().absent();
            reader.release();
            reader = null;
        }
        if (reader == null && binarySize < 0) {
            parameters.putAll(settings.sharedOutputs().getOrDefault(name, Map.of()));
        }
        check().requireMemory(name, parameters, settings.limits());
        requireOneSource();
        if (reader != null) {
            reader.requireShape(extents);
            data = reader.take();
            updateHeld();
        } else if (!shared() && type.fixedSize() && check().byteSize(name, type, extents) != binarySize) {
            throw check().failure(
                            name,
                            "shape " + extents + " of " + type + " needs " + check().byteSize(name, type, extents)
                                    + " bytes, got a binary_data_size of " + binarySize);
        }
    }

    private boolean shared() {
        return parameters.containsKey(Tensor.SHARED_MEMORY_REGION);
    }

    private void requireOneSource() {
        int sources = (reader == null ? 0 : 1) + (binarySize < 0 ? 0 : 1) + (shared() ? 1 : 0);
        if (sources != 1) {
            throw check().failure(
                            name,
                            "one of data, binary_data_size and shared_memory_region is expected, got "
                                    + (sources == 0 ? "none" : sources));
        }
    }

    boolean plainJson() {
        return reader != null && !contestedJson() && !base64;
    }

    /** Whether it was decoded from base64. */
    boolean base64() {
        return base64;
    }

    /** Whether it was received as JSON that servers interpret differently; most reject half floats. */
    boolean contestedJson() {
        return reader != null && (dataType == DataType.FP16 || dataType == DataType.BF16 || reader.contested());
    }

    private <T> T required(@Nullable T value, String key) {
        if (value == null) {
            throw check().failure(name, "'" + key + "' is missing");
        }
        return value;
    }

    /**
     * Adds bytes of its binary data.
     *
     * @param part taken
     */
    void addBinary(ByteBuf part) {
        if (counts()) {
            countBinary(part);
            return;
        }
        BufferCollector parts = binary;
        if (parts == null) {
            parts = new BufferCollector(settings.allocator(), SMALL_PARTS);
            binary = parts;
        }
        parts.add(part);
        updateHeld();
    }

    /** Checks the lengths of BYTES; for other datatypes the size has been checked already. */
    private void countBinary(ByteBuf part) {
        if (required(dataType, "datatype") == DataType.BYTES) {
            walk.add(part);
        }
        part.release();
    }

    /** Whether its data is binary with a size validated before it is received. */
    boolean fixedBinary() {
        DataType type = dataType;
        return binarySize >= 0 && type != null && type.fixedSize();
    }

    /** The tensor without its data. */
    Tensor head() {
        return new Tensor(
                name, required(dataType, "datatype"), required(shape, "shape"), parameters, Unpooled.EMPTY_BUFFER);
    }

    /** The binary data received and not taken before, owned by the caller. */
    ByteBuf takeBinary() {
        ByteBuf taken = binary == null ? Unpooled.EMPTY_BUFFER : binary.take();
        updateHeld();
        return taken;
    }

    /** The tensor, owned by the caller; its data is validated, or empty if it was skimmed. */
    Tensor take(boolean inBase64) {
        DataType type = required(dataType, "datatype");
        Shape extents = required(shape, "shape");
        if (binary != null) {
            data = binary.take();
        }
        ByteBuf complete = data == null ? Unpooled.EMPTY_BUFFER : data;
        if (counts()) {
            if (reader == null && !shared() && type == DataType.BYTES) {
                walk.requireComplete(check(), name, extents);
            }
        } else if (!shared() && (reader == null || reader instanceof DataReader)) {
            check().requireRaw(name, type, extents, complete);
        }
        if (inBase64 && type == DataType.BYTES && binarySize < 0) {
            ByteBuf decoded = decoded(complete);
            complete.release();
            complete = decoded;
            base64 = true;
            // It describes the JSON; a server that received it would decode again.
            parameters.remove("content_type");
        }
        data = null;
        return new Tensor(name, type, extents, parameters, complete);
    }

    private ByteBuf decoded(ByteBuf texts) {
        try {
            return Base64Inputs.decoded(settings.allocator(), texts);
        } catch (IllegalArgumentException e) {
            throw new OipException(
                    check().code(), check().where(name) + "its content_type is base64, its data is not", e);
        }
    }

    /** Updates the bytes counted for its data. Of a response, binary data is a part of what was received and counts there. */
    void updateHeld() {
        long bytes =
                (reader == null ? 0 : reader.held()) + (binary == null || !settings.request() ? 0 : binary.bytes());
        settings.held().data(bytes - counted);
        counted = bytes;
    }

    void release() {
        if (reader != null) {
            reader.release();
        }
        if (binary != null) {
            binary.release();
        }
        if (data != null) {
            data.release();
            data = null;
        }
    }
}
