package dev.isthmus.local.ort;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.onnxruntime.engine.OrtNDManager;
import ai.djl.onnxruntime.engine.OrtSymbolBlock;
import ai.onnxruntime.NodeInfo;
import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtLoggingLevel;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.TensorInfo;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.ModelSource;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One version of a model, loaded. Runs may go on at the same time on any thread. The session is closed when the last user
 * has let go: closing it under a run would bring the process down.
 */
public final class OnnxModel {
    private final ModelRef ref;
    private final ModelSettings settings;
    private final OrtEnvironment environment;
    private final OrtSession session;
    private final Model owner;
    private final List<TensorMetadata> inputs;
    private final List<TensorMetadata> outputs;
    private final AtomicInteger users = new AtomicInteger(1);

    private OnnxModel(
            ModelSource source,
            OrtEnvironment environment,
            OrtSession session,
            Model owner,
            List<TensorMetadata> inputs,
            List<TensorMetadata> outputs) {
        this.ref = new ModelRef(source.name(), source.version());
        this.settings = source.settings();
        this.environment = environment;
        this.session = session;
        this.owner = owner;
        this.inputs = inputs;
        this.outputs = outputs;
    }

    /**
     * Loads a model.
     *
     * @param device cpu; no other is known yet
     * @throws OipException with the reason where it cannot be loaded or uses what cannot be carried exactly
     */
    public static OnnxModel load(ModelSource source, String device) {
        if (!device.equals("cpu") && !device.equals("auto")) {
            throw new OipException(ErrorCode.FAILED_PRECONDITION, "device '" + device + "': cpu or auto is expected");
        }
        OrtEnvironment environment = OrtRuntime.environment();
        byte[] onnx = source.onnx().get();
        try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
            options.setIntraOpNumThreads(1);
            options.setInterOpNumThreads(1);
            options.addConfigEntry("session.intra_op.allow_spinning", "0");
            options.setSessionLogLevel(OrtLoggingLevel.ORT_LOGGING_LEVEL_FATAL);
            OrtSession session = environment.createSession(onnx, options);
            try {
                List<TensorMetadata> inputs = describe("input", session.getInputInfo());
                List<TensorMetadata> outputs = describe("output", session.getOutputInfo());
                Model owner = Model.newInstance(source.name(), Device.cpu(), "OnnxRuntime");
                owner.setBlock(new OrtSymbolBlock(session, (OrtNDManager) owner.getNDManager()));
                return new OnnxModel(source, environment, session, owner, inputs, outputs);
            } catch (RuntimeException | OrtException e) {
                session.close();
                throw e;
            }
        } catch (OrtException e) {
            throw new OipException(ErrorCode.FAILED_PRECONDITION, "it is no model that ONNX Runtime takes", e);
        }
    }

    private static List<TensorMetadata> describe(String kind, Map<String, NodeInfo> nodes) {
        List<TensorMetadata> tensors = new ArrayList<>();
        for (NodeInfo node : nodes.values()) {
            if (!(node.getInfo() instanceof TensorInfo info)
                    || OrtTypes.exact(info).isEmpty()) {
                String type = node.getInfo() instanceof TensorInfo info ? OrtTypes.name(info) : "a sequence or map";
                throw new OipException(
                        ErrorCode.FAILED_PRECONDITION,
                        kind + " '" + node.getName() + "' is " + type + ", which the local backend does not run yet");
            }
            tensors.add(new TensorMetadata(node.getName(), OrtTypes.name(info), Shape.of(info.getShape()), Map.of()));
        }
        return List.copyOf(tensors);
    }

    public ModelRef ref() {
        return ref;
    }

    public ModelSettings settings() {
        return settings;
    }

    /** What its metadata say besides. */
    public Map<String, Parameter> parameters() {
        return Map.of();
    }

    /**
     * Checks a request before it is queued.
     *
     * @throws OipException INVALID_ARGUMENT for one that does not fit the model
     */
    public void require(InferRequest request) {
        ModelCheck.require(this, request);
    }

    public List<TensorMetadata> inputs() {
        return inputs;
    }

    public List<TensorMetadata> outputs() {
        return outputs;
    }

    /** Begins to use the model; false when it is closed already. */
    public boolean retain() {
        while (true) {
            int now = users.get();
            if (now == 0) {
                return false;
            }
            if (users.compareAndSet(now, now + 1)) {
                return true;
            }
        }
    }

    /** Ends a use. The last one closes the session. */
    public void release() {
        if (users.decrementAndGet() == 0) {
            // DJL's model closes the block, and the block its session.
            owner.close();
        }
    }

    /**
     * Runs the model. Inputs that lie in one piece outside the heap are read where they are.
     *
     * @param request borrowed, checked
     * @return the outputs, owned by the caller, in the order of the request or else of the model
     */
    public List<Tensor> run(InferRequest request, RunHandle handle, ByteBufAllocator allocator) {
        Map<String, OnnxTensor> feed = new LinkedHashMap<>();
        List<ByteBuf> gathered = new ArrayList<>();
        try {
            for (Tensor input : request.inputs()) {
                feed.put(input.name(), onnx(input, gathered, allocator));
            }
            Set<String> wanted = request.outputs().isEmpty()
                    ? session.getOutputNames()
                    : new java.util.LinkedHashSet<>(request.outputs().stream()
                            .map(output -> output.name())
                            .toList());
            try (OrtSession.Result result = session.run(feed, wanted, handle.options())) {
                return collect(wanted, result, allocator);
            }
        } catch (OrtException e) {
            throw new OipException(ErrorCode.INTERNAL, "model '" + ref.name() + "': the run failed", e);
        } finally {
            feed.values().forEach(OnnxTensor::close);
            gathered.forEach(ByteBuf::release);
        }
    }

    private OnnxTensor onnx(Tensor input, List<ByteBuf> gathered, ByteBufAllocator allocator) throws OrtException {
        ByteBuf data = input.data();
        if (!data.isDirect() || data.nioBufferCount() != 1) {
            // ONNX Runtime reads one piece of memory outside the heap: gather it.
            ByteBuf whole = allocator.directBuffer(Math.max(1, data.readableBytes()));
            gathered.add(whole);
            whole.writeBytes(data, data.readerIndex(), data.readableBytes());
            data = whole;
        }
        ByteBuffer bytes = data.nioBuffer(data.readerIndex(), data.readableBytes());
        OnnxJavaType type = OrtTypes.java(input.dataType());
        return OnnxTensor.createTensor(environment, bytes, input.shape().toArray(), type);
    }

    private static List<Tensor> collect(Set<String> wanted, OrtSession.Result result, ByteBufAllocator allocator) {
        List<Tensor> outputs = new ArrayList<>();
        try {
            for (String name : wanted) {
                OnnxTensor tensor = (OnnxTensor) result.get(name).orElseThrow();
                TensorInfo info = tensor.getInfo();
                DataType type = OrtTypes.exact(info).orElseThrow();
                // The public API gives a copy on the heap, and the result ends with this call.
                ByteBuffer copy = tensor.getByteBuffer();
                ByteBuf data = allocator.buffer(Math.max(1, copy.remaining())).writeBytes(copy);
                outputs.add(new Tensor(name, type, Shape.of(info.getShape()), Map.of(), data));
            }
            return outputs;
        } catch (RuntimeException e) {
            outputs.forEach(Tensor::release);
            throw e;
        }
    }
}
