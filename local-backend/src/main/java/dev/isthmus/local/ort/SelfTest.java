package dev.isthmus.local.ort;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import com.google.protobuf.ByteString;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Shape;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.ByteBuffer;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether what goes past ONNX Runtime's Java API works with the library at hand: tensors go through models that hand them on,
 * and must come back byte for byte. What does not is not used: a model that needs it is not loaded.
 */
final class SelfTest {
    private static final Logger LOG = LoggerFactory.getLogger(SelfTest.class);
    private static final int IR_VERSION = 8;
    private static final int OPSET = 17;
    private static final Set<DataType> BEYOND_THE_API =
            EnumSet.of(DataType.UINT16, DataType.UINT32, DataType.UINT64, DataType.BYTES);

    /** Elements behind their lengths: an emoji, a NUL inside, bytes that are no UTF-8, nothing. */
    private static final byte[] STRINGS = {
        4,
        0,
        0,
        0,
        (byte) 0xf0,
        (byte) 0x9f,
        (byte) 0x98,
        (byte) 0x80,
        3,
        0,
        0,
        0,
        'a',
        0,
        'b',
        2,
        0,
        0,
        0,
        (byte) 0xff,
        (byte) 0xfe,
        0,
        0,
        0,
        0
    };

    private static final int STRING_COUNT = 4;

    private SelfTest() {}

    /** The runtime, with what works. */
    static OrtRuntime run(OrtEnvironment environment) {
        Set<DataType> exact = EnumSet.allOf(DataType.class);
        boolean access = works(environment, DataType.FP32);
        for (DataType type : BEYOND_THE_API) {
            if (!access || !works(environment, type)) {
                exact.remove(type);
            }
        }
        return new OrtRuntime(environment, Set.copyOf(exact), access);
    }

    private static boolean works(OrtEnvironment environment, DataType type) {
        try {
            boolean equal = type == DataType.BYTES ? strings(environment) : numbers(environment, type);
            if (!equal) {
                LOG.warn("tensors of {} do not come back from this ONNX Runtime as they were given", type);
            }
            return equal;
        } catch (OrtException | RuntimeException | LinkageError e) {
            LOG.warn("tensors of {} are not carried by this ONNX Runtime", type, e);
            return false;
        }
    }

    /** All bits set: negative where the type is taken for its signed sister. */
    private static boolean numbers(OrtEnvironment environment, DataType type) throws OrtException {
        ByteBuffer given = ByteBuffer.allocateDirect(2 * type.size());
        for (int i = 0; i < given.capacity(); i++) {
            given.put(i, (byte) (i < type.size() ? 0xff : i));
        }
        long[] shape = {2};
        try (OrtSession session = identity(environment, type);
                OnnxTensor input = OrtAccess.tensor(given, shape, OrtAccess.info(type));
                OrtSession.Result result = session.run(Map.of("x", input))) {
            OnnxTensor output = (OnnxTensor) result.get(0);
            return OrtTypes.type(output.getInfo()) == type
                    && OrtAccess.view(output).equals(given);
        }
    }

    private static boolean strings(OrtEnvironment environment) throws OrtException {
        Shape shape = Shape.of(STRING_COUNT);
        ByteBuffer given =
                ByteBuffer.allocateDirect(STRINGS.length).put(STRINGS).flip();
        try (OrtSession session = identity(environment, DataType.BYTES);
                OnnxTensor input = OrtStrings.tensor(given, shape);
                OrtSession.Result result = session.run(Map.of("x", input))) {
            ByteBuf back = OrtStrings.elements((OnnxTensor) result.get(0), shape, UnpooledByteBufAllocator.DEFAULT);
            try {
                return back.nioBuffer().equals(given);
            } finally {
                back.release();
            }
        }
    }

    private static OrtSession identity(OrtEnvironment environment, DataType type) throws OrtException {
        ByteString graph = OnnxProto.message(out -> {
            out.writeBytes(OnnxProto.GRAPH_NODE, OnnxProto.identity("x", "y"));
            out.writeString(OnnxProto.GRAPH_NAME, "identity");
            out.writeBytes(OnnxProto.GRAPH_INPUT, OnnxProto.value("x", type, -1));
            out.writeBytes(OnnxProto.GRAPH_OUTPUT, OnnxProto.value("y", type, -1));
        });
        ByteString model = OnnxProto.message(out -> {
            out.writeInt64(OnnxProto.MODEL_IR_VERSION, IR_VERSION);
            out.writeBytes(OnnxProto.MODEL_GRAPH, graph);
            out.writeBytes(OnnxProto.MODEL_OPSET, OnnxProto.opset(OPSET));
        });
        try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
            options.setIntraOpNumThreads(1);
            return environment.createSession(model.toByteArray(), options);
        }
    }
}
