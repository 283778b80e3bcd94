package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.buffer.BufferCollector;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.RetainedText;
import dev.isthmus.transcoder.json.SkippedValue;
import dev.isthmus.transcoder.json.ValueReader;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.number.JsonNumbers;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A tensor while its JSON object and its binary data are read. Owns its data until {@link #take}. */
final class TensorBuilder extends ObjectReader {
    /**
     * The small parts that are consolidated into one, because Netty copies a buffer of many parts when it is written.
     */
    private static final int SMALL_PARTS = 256;

    /** Its position among the tensors, which names it until its name is known. */
    private final int index;

    private String name = "";
    private @Nullable DataType dataType;
    private @Nullable Shape shape;
    private @Nullable TensorData reader;
    /** The text of data that precedes its datatype, until it can be read. */
    private @Nullable RetainedText kept;

    private @Nullable ByteBuf data;
    private @Nullable BufferCollector binary;
    private @Nullable BytesElementCounter walk;
    private long binarySize = -1;
    private boolean base64;
    /** The bytes counted for it. */
    private long counted;

    TensorBuilder(ReaderState state, int index) {
        super(state);
        this.index = index;
        state.heap(ReaderState.TENSOR);
    }

    String name() {
        return name;
    }

    /** The checks, whose failures name the tensor. */
    TensorCheck check() {
        return name.isEmpty() ? state.check().at(index) : state.check();
    }

    @Override
    @Nullable
    ValueReader member(String key, int depth) {
        return switch (key) {
            case "name", "datatype" -> null;
            case "shape" -> {
                state.scratch().rank = -1;
                yield this::readShape;
            }
            case "data" -> openData(depth);
            default -> skipped(depth);
        };
    }

    @Override
    boolean consumes(String parameter, Parameter given) {
        boolean size = parameter.equals("binary_data_size");
        if (size) {
            binarySize(given);
        }
        return size;
    }

    @Override
    String where(String what) {
        return check().where(name) + what;
    }

    @Override
    void text(String key, String given) {
        if (key.equals("datatype")) {
            dataType = check().dataType(name, given);
        } else {
            state.check().requireName(given, state.limits);
            state.heap(given.length());
            name = given;
        }
    }

    private boolean readShape(JsonTokenizer json) {
        TensorScratch scratch = state.scratch();
        while (true) {
            JsonToken token = json.next();
            if (token == JsonToken.NEED_MORE) {
                return false;
            }
            if (scratch.rank >= 0 && token != JsonToken.END_ARRAY) {
                extent(token, json, scratch);
            } else if (scratch.rank >= 0) {
                Shape read = Shape.of(scratch.extents, scratch.rank);
                check().elementCount(name, read);
                shape = read;
                return true;
            } else if (token == JsonToken.START_ARRAY) {
                scratch.rank = 0;
            } else {
                throw check().failure(name, "shape: an array is expected, got " + token);
            }
        }
    }

    private void extent(JsonToken token, JsonTokenizer json, TensorScratch scratch) {
        JsonNumbers number = token == JsonToken.NUMBER ? json.number() : null;
        if (number == null || number.hasFraction() || !number.isInteger(true, 64)) {
            String got = number == null ? token.toString() : number.shown();
            throw check().failure(name, "shape: integers are expected, got " + got);
        }
        if (scratch.rank == Shape.MAX_RANK) {
            throw check().failure(name, "shape: at most " + Shape.MAX_RANK + " dimensions are accepted");
        }
        scratch.extents[scratch.rank++] = number.integer();
    }

    private void binarySize(Parameter value) {
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
    private ValueReader openData(int depth) {
        state.heap(ReaderState.DATA);
        DataType type = dataType;
        if (type == null) {
            RetainedText text = new RetainedText(SkippedValue.lenient(depth), state::data);
            kept = text;
            return json -> defer(text, json);
        }
        long expected = expectedBytes(type);
        reader = reader(type, expected, depth, state.passes && (!state.request || ElementCounter.skims(type)));
        return reader;
    }

    private boolean defer(RetainedText text, JsonTokenizer json) {
        boolean complete = text.read(json);
        if (text.size() > state.limits.bodyBytes()) {
            throw check().tooLarge(name, state.limits.bodyBytes());
        }
        return complete;
    }

    /** Whether it belongs to a response that is passed through. */
    private boolean counts() {
        return state.passes && !state.request;
    }

    private TensorData reader(DataType type, long expectedBytes, int depth, boolean counted) {
        return counted
                ? new ElementCounter(state, check(), name, type, depth)
                : new DataReader(state, check(), name, type, depth, expectedBytes);
    }

    private long expectedBytes(DataType type) {
        Shape known = shape;
        return known == null || !type.fixedSize() ? 0 : check().byteSize(name, type, known);
    }

    @Override
    void end() {
        required(name.isEmpty() ? null : name, "name");
        DataType type = required(dataType, "datatype");
        Shape extents = required(shape, "shape");
        if (kept != null) {
            reader = reader(type, expectedBytes(type), 0, counts());
            reader.read(kept.tokens(state.limits));
            kept.release();
        }
        if (reader != null && reader.nesting.isEmpty()) {
            state.hasNull = true;
            reader.release();
            reader = null;
        }
        if (reader == null && binarySize < 0) {
            state.sharedOutputs.getOrDefault(name, Map.of()).forEach(this::put);
            // OpenVINO Model Server gives a binary output without elements neither data nor a size.
            if (!state.request && !shared() && check().elementCount(name, extents) == 0) {
                binarySize = 0;
            }
        }
        check().requireMemory(name, parameters(), state.limits);
        requireOneSource();
        if (reader != null) {
            reader.nesting.requireShape(extents);
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
        return parameters().containsKey(Tensor.SHARED_MEMORY_REGION);
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
            parts = new BufferCollector(state.allocator, SMALL_PARTS);
            binary = parts;
        }
        parts.add(part);
        updateHeld();
    }

    /** Checks the lengths of BYTES; for other datatypes the size has been checked already. */
    private void countBinary(ByteBuf part) {
        if (required(dataType, "datatype") == DataType.BYTES) {
            walk = walk == null ? new BytesElementCounter() : walk;
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
                name, required(dataType, "datatype"), required(shape, "shape"), parameters(), Unpooled.EMPTY_BUFFER);
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
        if (!shared() && (reader == null || reader instanceof DataReader)) {
            check().requireRaw(name, type, extents, complete);
        }
        if (inBase64 && type == DataType.BYTES && binarySize < 0) {
            ByteBuf decoded = decoded(complete);
            complete.release();
            complete = decoded;
            base64 = true;
            removeContentType();
        }
        data = null;
        return new Tensor(name, type, extents, parameters(), complete);
    }

    /** Requires that its data is complete, which is only counted. */
    void requireData() {
        if (reader == null && !shared() && dataType == DataType.BYTES) {
            BytesElementCounter counter = walk == null ? new BytesElementCounter() : walk;
            counter.requireComplete(check(), name, required(shape, "shape"));
        }
    }

    private ByteBuf decoded(ByteBuf texts) {
        try {
            return Base64Inputs.decoded(state.allocator, texts);
        } catch (IllegalArgumentException e) {
            throw new OipException(
                    check().code(), check().where(name) + "its content_type is base64, its data is not", e);
        }
    }

    /** Updates the bytes counted for its data. Of a response, binary data is a part of what was received and counts there. */
    void updateHeld() {
        long bytes = (reader == null ? 0 : reader.held()) + (binary == null || !state.request ? 0 : binary.bytes());
        state.data(bytes - counted);
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

    /** Counts the elements of a BYTES tensor's raw form, received in parts, by their lengths. Retains nothing. */
    private static final class BytesElementCounter {
        /** The bytes read of an incomplete length. */
        private int lengthBytes;

        private long length;
        /** The missing bytes of the current element. */
        private long missing;

        private long count;

        /** Counts the next part (borrowed). */
        void add(ByteBuf part) {
            int at = part.readerIndex();
            int end = part.writerIndex();
            while (at < end) {
                if (missing > 0) {
                    int skipped = (int) Math.min(missing, end - at);
                    at += skipped;
                    missing -= skipped;
                } else if (lengthBytes == 0 && end - at >= Integer.BYTES) {
                    begin(part.getUnsignedIntLE(at));
                    at += Integer.BYTES;
                } else {
                    length |= (part.getByte(at) & 0xffL) << (Byte.SIZE * lengthBytes);
                    at++;
                    lengthBytes++;
                    if (lengthBytes == Integer.BYTES) {
                        begin(length);
                    }
                }
            }
        }

        private void begin(long elementLength) {
            count++;
            missing = elementLength;
            length = 0;
            lengthBytes = 0;
        }

        /** Requires that it is complete, with as many elements as the shape says. */
        void requireComplete(TensorCheck check, String tensor, Shape shape) {
            if (lengthBytes > 0) {
                throw check.failure(tensor, "BYTES element " + count + " ends within its length");
            }
            if (missing > 0) {
                throw check.failure(
                        tensor, "BYTES element " + (count - 1) + " is " + missing + " bytes longer than its data");
            }
            long expected = check.elementCount(tensor, shape);
            if (count != expected) {
                throw check.failure(
                        tensor, "shape " + shape + " of BYTES needs " + expected + " elements, got " + count);
            }
        }
    }
}
