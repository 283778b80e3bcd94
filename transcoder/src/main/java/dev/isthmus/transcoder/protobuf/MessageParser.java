package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.oip.TensorHead;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Parses a ModelInferRequest or ModelInferResponse, which differ in two field numbers. Retains slices of the message
 * until {@link #takeTensors()}; {@link #release()} releases those not taken.
 */
final class MessageParser {
    static final Kind REQUEST = new Kind(TensorCheck.INPUT, 6 << 3 | ProtoCursor.BYTES, RawRequest.TAG);
    static final Kind RESPONSE = new Kind(TensorCheck.OUTPUT, 0, 6 << 3 | ProtoCursor.BYTES);

    static final int MODEL_NAME = 1 << 3 | ProtoCursor.BYTES;
    static final int MODEL_VERSION = 2 << 3 | ProtoCursor.BYTES;
    static final int ID = 3 << 3 | ProtoCursor.BYTES;
    static final int PARAMETERS = 4 << 3 | ProtoCursor.BYTES;
    static final int TENSORS = 5 << 3 | ProtoCursor.BYTES;

    /** As many fields as a tensor has, but for its parameters and extents. */
    private static final int FEW_FIELDS = 8;

    /** Fields of a tensor; its parameters have the same number as the message's. */
    private static final int NAME = 1 << 3 | ProtoCursor.BYTES;

    private static final int DATATYPE = 2 << 3 | ProtoCursor.BYTES;
    private static final int SHAPE = 3 << 3 | ProtoCursor.VARINT;
    private static final int PACKED_SHAPE = 3 << 3 | ProtoCursor.BYTES;

    private static final int OUTPUT_PARAMETERS = 2 << 3 | ProtoCursor.BYTES;

    /** The differences of the two messages: the tags of requested outputs and of raw contents. */
    record Kind(TensorCheck check, int requestedOutputs, int rawContents) {
        boolean request() {
            return requestedOutputs > 0;
        }
    }

    private static final long[] NONE = {};

    /** @param contents the tensor's message from its first {@code contents} field on */
    private record Head(
            String name,
            DataType dataType,
            Shape shape,
            Map<String, Parameter> parameters,
            @Nullable ProtoCursor contents)
            implements TensorHead {

        boolean shared() {
            return parameters.containsKey(Tensor.SHARED_MEMORY_REGION);
        }
    }

    private final Kind kind;
    private final WireLimits limits;
    private final Map<String, Map<String, Parameter>> sharedOutputs;
    private final ByteBuf message;
    private final ParameterEntries entries;
    private final List<Head> heads = new ArrayList<>();
    private final List<ByteBuf> raws = new ArrayList<>();
    private final List<Tensor> tensors = new ArrayList<>();
    private final List<RequestedOutput> outputs = new ArrayList<>();
    private Map<String, Parameter> parameters = Map.of();
    /** Whether raw contents may follow this part of the message. */
    private boolean rawToCome;
    /** Whether any tensor has a {@code contents} field, even an empty one. */
    private boolean contentsGiven;

    private Texts texts = new Texts("", "", "");

    private record Texts(String name, String version, String id) {}

    MessageParser(ByteBuf message, Kind kind, WireLimits limits) {
        this(message, kind, limits, Map.of());
    }

    /** @param sharedOutputs the parameters of a response's outputs that were requested in shared memory, by name */
    MessageParser(ByteBuf message, Kind kind, WireLimits limits, Map<String, Map<String, Parameter>> sharedOutputs) {
        this.message = message;
        this.kind = kind;
        this.limits = limits;
        this.sharedOutputs = sharedOutputs;
        this.entries = new ParameterEntries(kind.check(), limits);
    }

    ModelRef model() {
        return new ModelRef(texts.name, texts.version);
    }

    String id() {
        return texts.id;
    }

    Map<String, Parameter> parameters() {
        return parameters;
    }

    List<RequestedOutput> outputs() {
        return outputs;
    }

    /** The outline of a request, once its fields are parsed. */
    RequestOutline outline() {
        return new RequestOutline(parameters, heads, outputs);
    }

    List<Tensor> takeTensors() {
        List<Tensor> taken = List.copyOf(tensors);
        tensors.clear();
        return taken;
    }

    void release() {
        raws.forEach(ByteBuf::release);
        raws.clear();
        tensors.forEach(Tensor::release);
        tensors.clear();
    }

    /** The features of the message, or of its head, that servers support differently. */
    ProtobufReader.Contested contested() {
        boolean typed = raws.isEmpty() && !rawToCome && unshared() > 0;
        return new ProtobufReader.Contested(typed, contentsGiven && !typed, entries.hasWide(), classified(), texts.id);
    }

    private boolean classified() {
        boolean any = false;
        for (int i = 0; i < outputs.size() && !any; i++) {
            any = outputs.get(i).classified();
        }
        return any;
    }

    /** The number of tensors with their contents in the message. */
    private int unshared() {
        int count = 0;
        for (Head head : heads) {
            count += head.shared() ? 0 : 1;
        }
        return count;
    }

    void parse() {
        fields();
        requireRawCount();
        int raw = 0;
        for (Head head : heads) {
            tensors.add(new Tensor(head.name, head.dataType, head.shape, head.parameters, data(head, raw)));
            raw += head.shared() && !rawOfEach() ? 0 : 1;
        }
    }

    /** Whether tensors in shared memory have empty raw contents, as in Triton's responses. */
    private boolean rawOfEach() {
        return !kind.request() && raws.size() == heads.size();
    }

    /**
     * Parses the head of a request, whose raw contents follow.
     *
     * @return the expected raw contents; null if they cannot be predicted, not all tensors have them, or there are no
     *     tensors
     */
    @Nullable
    List<RawRequest.RawContent> head() {
        rawToCome = true;
        fields();
        List<RawRequest.RawContent> expected = new ArrayList<>(heads.size());
        for (Head head : heads) {
            if (head.shared() || head.dataType == DataType.BYTES) {
                return null;
            }
            requireNoContents(head);
            long bytes = kind.check().byteSize(head.name, head.dataType, head.shape);
            expected.add(new RawRequest.RawContent(head.name, head.dataType, head.shape, bytes));
        }
        boolean shared = outputs.stream().anyMatch(RequestedOutput::shared);
        return shared || expected.isEmpty() ? null : expected;
    }

    /** Parses all fields without checking the tensors' contents. */
    void fields() {
        ProtoCursor cursor = ProtoCursor.of(message, kind.check().code());
        while (cursor.more()) {
            int tag = cursor.tag();
            switch (tag) {
                case MODEL_NAME -> texts = new Texts(cursor.string(), texts.version, texts.id);
                case MODEL_VERSION -> texts = new Texts(texts.name, cursor.string(), texts.id);
                case ID -> texts = new Texts(texts.name, texts.version, cursor.string());
                case PARAMETERS -> parameters = entries.readIn(cursor, parameters);
                case TENSORS -> {
                    ProtoCursor tensor = cursor.nested();
                    tensor(tensor);
                    cursor.read(tensor);
                }
                default -> last(cursor, tag);
            }
        }
        entries.requireValues(parameters);
        drop(parameters, "binary_data_output");
        kind.check().requireDistinct(heads, Head::name);
        outputCheck().requireDistinct(outputs, RequestedOutput::name);
    }

    private TensorCheck outputCheck() {
        return new TensorCheck(kind.check().code(), "output");
    }

    private void last(ProtoCursor cursor, int tag) {
        if (tag == kind.rawContents()) {
            requireAtMost(limits.tensors(), raws.size() + 1, "raw contents");
            raws.add(cursor.retainedBytes());
        } else if (tag == kind.requestedOutputs()) {
            ProtoCursor output = cursor.nested();
            requestedOutput(output);
            cursor.read(output);
        } else {
            cursor.skipUnexpected();
        }
    }

    private void tensor(ProtoCursor cursor) {
        requireAtMost(limits.tensors(), heads.size() + 1, kind.check().kind() + "s");
        String name = "";
        String type = "";
        long[] extents = NONE;
        Map<String, Parameter> own = Map.of();
        ProtoCursor contents = null;
        for (int fields = 1; cursor.more(); fields++) {
            cursor.expect(FEW_FIELDS + own.size() + extents.length, fields);
            int start = cursor.position();
            switch (cursor.tag()) {
                case NAME -> name = cursor.string();
                case DATATYPE -> type = cursor.string();
                case SHAPE -> extents = appended(extents, cursor.varint());
                case PACKED_SHAPE -> extents = unpacked(cursor.nested(), extents);
                case PARAMETERS -> own = entries.readIn(cursor, own);
                case TypedContents.TAG -> {
                    contents = contents == null ? cursor.from(start) : contents;
                    contentsGiven = true;
                    cursor.skip();
                }
                default -> cursor.skipUnexpected();
            }
        }
        kind.check().requireName(name, limits);
        if (kind.request() && name.isEmpty()) {
            throw kind.check().at(heads.size()).failure(name, "'name' is missing");
        }
        DataType dataType = kind.check().dataType(name, type);
        Shape shape = Shape.of(extents);
        kind.check().elementCount(name, shape);
        heads.add(new Head(name, dataType, shape, tensorParameters(name, own), contents));
    }

    private Map<String, Parameter> tensorParameters(String tensor, Map<String, Parameter> own) {
        entries.requireValues(own);
        kind.check().requireMemory(tensor, own, limits);
        // Describes a REST body's layout; KServe forwards it.
        drop(own, "binary_data_size");
        Map<String, Parameter> place = sharedOutputs.get(tensor);
        if (place != null) {
            Map<String, Parameter> placed = new LinkedHashMap<>(own);
            placed.putAll(place);
            return placed;
        }
        return own;
    }

    /** An empty map may be immutable. */
    private static void drop(Map<String, Parameter> parameters, String name) {
        if (!parameters.isEmpty()) {
            parameters.remove(name);
        }
    }

    private long[] unpacked(ProtoCursor packed, long[] before) {
        long[] extents = before;
        while (packed.more()) {
            extents = appended(extents, packed.varint());
        }
        return extents;
    }

    private long[] appended(long[] extents, long extent) {
        requireAtMost(Shape.MAX_RANK, extents.length + 1, "dimensions of a tensor");
        long[] longer = Arrays.copyOf(extents, extents.length + 1);
        longer[extents.length] = extent;
        return longer;
    }

    private void requestedOutput(ProtoCursor cursor) {
        requireAtMost(limits.tensors(), outputs.size() + 1, "requested outputs");
        String name = "";
        Map<String, Parameter> own = Map.of();
        for (int fields = 1; cursor.more(); fields++) {
            cursor.expect(FEW_FIELDS + own.size(), fields);
            switch (cursor.tag()) {
                case NAME -> name = cursor.string();
                case OUTPUT_PARAMETERS -> own = entries.readIn(cursor, own);
                default -> cursor.skipUnexpected();
            }
        }
        entries.requireValues(own);
        outputCheck().requireName(name, limits);
        outputCheck().requireMemory(name, own, limits);
        drop(own, "binary_data");
        outputs.add(new RequestedOutput(name, own));
    }

    /** Empty contents are allowed: MLServer's client and responses have them beside raw contents. */
    private void requireNoContents(Head head) {
        ProtoCursor contents = head.contents;
        if (contents != null && !TypedContents.empty(contents)) {
            throw kind.check().failure(head.name, "contents and raw contents are both given");
        }
    }

    private void requireRawCount() {
        int expected = unshared();
        if (!raws.isEmpty() && raws.size() != expected && !rawOfEach()) {
            throw failure("raw contents: one entry for each of the " + expected + " "
                    + kind.check().kind() + "s is expected, got " + raws.size());
        }
    }

    private ByteBuf data(Head head, int index) {
        ProtoCursor contents = head.contents;
        if (head.shared()) {
            if (contents != null && !TypedContents.empty(contents)) {
                throw kind.check().failure(head.name, "contents and a shared memory region are both given");
            }
            if (rawOfEach() && raws.get(index).isReadable()) {
                throw kind.check().failure(head.name, "raw contents and a shared memory region are both given");
            }
            return Unpooled.EMPTY_BUFFER;
        }
        if (!raws.isEmpty()) {
            requireNoContents(head);
            ByteBuf raw = raws.get(index);
            kind.check().requireRaw(head.name, head.dataType, head.shape, raw);
            raws.set(index, Unpooled.EMPTY_BUFFER);
            return raw;
        }
        if (contents == null || TypedContents.empty(contents)) {
            kind.check().requireRaw(head.name, head.dataType, head.shape, Unpooled.EMPTY_BUFFER);
            return Unpooled.EMPTY_BUFFER;
        }
        return new TypedContents(kind.check(), head.name, head.dataType, limits.bodyBytes())
                .raw(message.alloc(), contents, head.shape);
    }

    private void requireAtMost(int limit, int got, String what) {
        if (got > limit) {
            throw failure(what + ": at most " + limit + " are accepted");
        }
    }

    private OipException failure(String message) {
        return new OipException(kind.check().code(), message);
    }
}
