package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.transcoder.message.ResponseOrigin;
import dev.isthmus.transcoder.message.StreamParameters;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Reads inference messages from the protobuf wire. */
public final class ProtobufReader {
    private static final int OUTPUTS = 6 << 3 | ProtoCursor.BYTES;

    /** The maximum number of fields of a message, without nested ones. */
    private static final int MAX_FIELDS = 1 << 18;

    private ProtobufReader() {}

    /**
     * What a ModelInferResponse says before its outputs of the request that it answers.
     *
     * @param start its first bytes, borrowed; what is malformed or missing in them is not known
     */
    public static ResponseOrigin origin(ByteBuf start) {
        String model = "";
        String id = "";
        try {
            ProtoCursor cursor = ProtoCursor.of(start, ErrorCode.BAD_UPSTREAM_ANSWER);
            while (cursor.more()) {
                int tag = cursor.tag();
                if (tag == MessageParser.MODEL_NAME) {
                    model = cursor.string();
                } else if (tag == MessageParser.ID) {
                    id = cursor.string();
                } else if (ProtoCursor.field(tag) >= ProtoCursor.field(MessageParser.TENSORS)) {
                    break;
                } else {
                    cursor.skip();
                }
            }
        } catch (OipException malformed) {
            return new ResponseOrigin(model, id);
        }
        return new ResponseOrigin(model, id);
    }

    /**
     * The fields of a ModelInferRequest that are read without decoding its tensors.
     *
     * @param raw whether it has raw contents
     * @param parameters the request's own parameters; empty if they violate the protocol, which {@link #check} reports
     */
    public record Outline(ModelRef model, String id, boolean raw, Map<String, Parameter> parameters) {

        public Outline {
            parameters = Parameter.copyOf(parameters);
        }

        /**
         * The outline of a message from its head, which is everything before its raw contents.
         *
         * @param head borrowed
         */
        public static Outline ofHead(ByteBuf head) {
            Outline read = outline(head);
            return new Outline(read.model, read.id, true, read.parameters);
        }

        /** Whether {@link StreamParameters#EMPTY_FINAL} is set. */
        public boolean emptyFinal() {
            return parameters.get(StreamParameters.EMPTY_FINAL) instanceof Parameter.Bool requested
                    && requested.value();
        }
    }

    /**
     * The features of a ModelInferRequest that servers support differently.
     *
     * @param typed whether its tensors have typed contents
     * @param emptyContents whether any of its tensors has an empty {@code contents} beside raw contents
     * @param wideParameters whether it has parameters of type double or uint64
     * @param classified whether an output is to be classified
     */
    public record Contested(
            boolean typed, boolean emptyContents, boolean wideParameters, boolean classified, String id) {}

    /**
     * The outline of an encoded ModelInferRequest, without decoding the rest.
     *
     * @param message borrowed
     * @throws dev.isthmus.oip.OipException if the message is malformed
     */
    public static Outline outline(ByteBuf message) {
        ProtoCursor cursor = ProtoCursor.of(message, ErrorCode.INVALID_ARGUMENT);
        String name = "";
        String version = "";
        String id = "";
        boolean raw = false;
        boolean parameters = false;
        for (int fields = 1; cursor.more(); fields++) {
            if (fields > MAX_FIELDS) {
                throw OipException.invalid("protobuf message: at most " + MAX_FIELDS + " fields are accepted");
            }
            switch (cursor.tag()) {
                case MessageParser.MODEL_NAME -> name = cursor.string();
                case MessageParser.MODEL_VERSION -> version = cursor.string();
                case MessageParser.ID -> id = cursor.string();
                case MessageParser.PARAMETERS -> {
                    parameters = true;
                    cursor.skip();
                }
                case RawRequest.TAG -> {
                    raw = true;
                    cursor.skip();
                }
                case MessageParser.TENSORS, OUTPUTS -> cursor.skip();
                default -> cursor.skipUnexpected();
            }
        }
        return new Outline(new ModelRef(name, version), id, raw, parameters ? readable(message) : Map.of());
    }

    /**
     * The request parameters of an encoded ModelInferRequest, as {@link #request} reads them, without decoding the
     * rest.
     *
     * @param message borrowed
     * @throws dev.isthmus.oip.OipException if the message is malformed
     */
    public static Map<String, Parameter> parameters(ByteBuf message) {
        ParameterEntries entries = new ParameterEntries(TensorCheck.INPUT, WireLimits.DEFAULT);
        Map<String, Parameter> parameters = Map.of();
        ProtoCursor cursor = ProtoCursor.of(message, ErrorCode.INVALID_ARGUMENT);
        while (cursor.more()) {
            if (cursor.tag() == MessageParser.PARAMETERS) {
                parameters = entries.readIn(cursor, parameters);
            } else {
                cursor.skip();
            }
        }
        entries.requireValues(parameters);
        if (!parameters.isEmpty()) {
            parameters.remove("binary_data_output");
        }
        return Parameter.copyOf(parameters);
    }

    /**
     * Whether an encoded ModelInferRequest without raw contents has typed contents, rather than no inputs with data.
     *
     * @param message borrowed
     * @throws dev.isthmus.oip.OipException if the message is malformed
     */
    public static boolean typed(ByteBuf message) {
        ProtoCursor cursor = ProtoCursor.of(message, ErrorCode.INVALID_ARGUMENT);
        boolean typed = false;
        while (cursor.more() && !typed) {
            if (cursor.tag() == MessageParser.TENSORS) {
                ProtoCursor input = cursor.nested();
                typed = hasContents(input);
                cursor.read(input);
            } else {
                cursor.skip();
            }
        }
        return typed;
    }

    private static boolean hasContents(ProtoCursor input) {
        while (input.more()) {
            if (input.tag() == TypedContents.TAG) {
                return true;
            }
            input.skip();
        }
        return false;
    }

    private static Map<String, Parameter> readable(ByteBuf message) {
        try {
            return parameters(message);
        } catch (OipException malformed) {
            return Map.of();
        }
    }

    /**
     * Validates a ModelInferRequest that is passed through, so that servers receive only valid messages.
     *
     * @param message borrowed
     * @param shown receives its outline if it is valid, and may refuse it; null for nobody
     * @return its features that servers support differently
     * @throws dev.isthmus.oip.OipException if the message violates the protocol
     */
    public static Contested check(ByteBuf message, WireLimits limits, @Nullable Consumer<RequestOutline> shown) {
        MessageParser parser = new MessageParser(message, MessageParser.REQUEST, limits);
        try {
            parser.parse();
            if (shown != null) {
                shown.accept(parser.outline());
            }
            return parser.contested();
        } finally {
            parser.release();
        }
    }

    /**
     * Decodes a ModelInferRequest. Raw contents become slices of the message; typed contents are converted to raw form.
     *
     * @param message taken
     * @throws dev.isthmus.oip.OipException if the message violates the protocol
     */
    public static InferRequest request(ByteBuf message, WireLimits limits) {
        MessageParser parser = new MessageParser(message, MessageParser.REQUEST, limits);
        try {
            parser.parse();
            return new InferRequest(
                    parser.model(), parser.id(), parser.parameters(), parser.takeTensors(), parser.outputs());
        } finally {
            parser.release();
            message.release();
        }
    }

    /**
     * The parameters of the outputs that a ModelInferRequest requests in shared memory, by name.
     *
     * @param message borrowed
     * @throws dev.isthmus.oip.OipException if the message violates the protocol
     */
    public static Map<String, Map<String, Parameter>> sharedOutputs(ByteBuf message, WireLimits limits) {
        MessageParser parser = new MessageParser(message, MessageParser.REQUEST, limits.withSharedMemory(true));
        try {
            parser.fields();
            return RequestedOutput.shared(parser.outputs());
        } finally {
            parser.release();
        }
    }

    /**
     * Decodes a ModelInferResponse.
     *
     * @param message taken
     * @param sharedOutputs the parameters of the outputs requested in shared memory, by name
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if the message violates the protocol
     */
    public static InferResponse response(
            ByteBuf message, WireLimits limits, Map<String, Map<String, Parameter>> sharedOutputs) {
        MessageParser parser = new MessageParser(message, MessageParser.RESPONSE, limits, sharedOutputs);
        try {
            parser.parse();
            return new InferResponse(parser.model(), parser.id(), parser.parameters(), parser.takeTensors());
        } finally {
            parser.release();
            message.release();
        }
    }
}
