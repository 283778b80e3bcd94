package dev.isthmus.local.ort;

import ai.djl.Model;
import ai.djl.onnxruntime.engine.OrtNDManager;
import ai.djl.onnxruntime.engine.OrtSymbolBlock;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtException.OrtErrorCode;
import ai.onnxruntime.OrtLoggingLevel;
import ai.onnxruntime.OrtSession;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.ModelSource;
import dev.isthmus.local.translate.Translation;
import dev.isthmus.local.translate.TranslatorSource;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBufAllocator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One version of a model, loaded. Runs may go on at the same time on any thread. The session is closed when the last user
 * has let go, an output that is still read included: closing it under a run would end the process.
 */
public final class OnnxModel {
    /** What is loaded here, in the terms of a model's metadata. */
    public static final String PLATFORM = "onnxruntime_onnx";

    private static final Logger LOG = LoggerFactory.getLogger(OnnxModel.class);

    private final ModelRef ref;
    private final ModelSettings settings;
    private final Devices.Placed placed;
    private final Model owner;
    private final ModelCheck check;
    private final NativeSession graph;
    private final @Nullable Translated translated;
    private final CopyCounter copies = new CopyCounter();
    private final AtomicInteger users = new AtomicInteger(1);
    private volatile boolean pinning = true;

    /** A translator, and what clients may send it. */
    private record Translated(Translation translation, ModelCheck check) {}

    private OnnxModel(
            ModelSource source,
            Devices.Placed placed,
            Model owner,
            Signature signature,
            @Nullable Translated translated) {
        this.ref = new ModelRef(source.name(), source.version());
        this.settings =
                translated == null ? source.settings() : source.settings().unbatched();
        this.placed = placed;
        this.owner = owner;
        this.check = new ModelCheck(ref.name(), signature);
        this.graph = NativeSession.of(placed.session(), signature);
        this.translated = translated;
    }

    /**
     * Loads a model. The caller is its first user.
     *
     * @param device cpu, gpu:N or auto
     * @throws OipException FAILED_PRECONDITION with the reason where it cannot be loaded, or uses what cannot be carried
     *     exactly
     */
    public static OnnxModel load(ModelSource source, String device) {
        return load(source, device, OrtRuntime.get());
    }

    static OnnxModel load(ModelSource source, String device, OrtRuntime runtime) {
        runtime.requireUsable();
        ModelRef ref = new ModelRef(source.name(), source.version());
        ZipMaps zipMaps = ZipMaps.of(source.onnx().get());
        try {
            Devices.Placed placed =
                    Devices.place(ref, device, place -> session(runtime, zipMaps, source.settings(), place));
            try {
                Signature signature = Signature.of(placed.session(), zipMaps.labels());
                Translated translated = translated(ref, source, signature);
                Model owner =
                        Model.newInstance(source.name(), placed.placement().device(), "OnnxRuntime");
                owner.setBlock(new OrtSymbolBlock(placed.session(), (OrtNDManager) owner.getNDManager()));
                return new OnnxModel(source, placed, owner, signature, translated);
            } catch (RuntimeException | OrtException e) {
                placed.session().close();
                throw e;
            }
        } catch (OrtException e) {
            // The Java API knows tensors, sequences and maps.
            String reason = e.getCode() == OrtErrorCode.ORT_NOT_IMPLEMENTED
                    ? "it has an operator, input or output that ONNX Runtime does not offer here: " + e.getMessage()
                    : "it is no model that ONNX Runtime takes";
            throw new OipException(ErrorCode.FAILED_PRECONDITION, reason, e);
        }
    }

    private static OrtSession session(
            OrtRuntime runtime, ZipMaps zipMaps, ModelSettings settings, DevicePlacement placement)
            throws OrtException {
        try (OrtSession.SessionOptions options = options(settings)) {
            placement.addTo(options);
            return runtime.environment().createSession(zipMaps.onnx(), options);
        }
    }

    private static @Nullable Translated translated(ModelRef ref, ModelSource source, Signature signature) {
        ModelSettings settings = source.settings();
        if (settings.translator() == null && source.jars().isEmpty()) {
            return null;
        }
        Translation translation = Translation.load(new TranslatorSource(
                ref,
                settings.translator(),
                source.jars(),
                settings.inputs(),
                settings.outputs(),
                signature.inputs().stream().map(TensorSpec::name).toList()));
        Signature declared = Signature.declared(translation.inputs(), translation.outputs());
        return new Translated(translation, new ModelCheck(ref.name(), declared));
    }

    private static OrtSession.SessionOptions options(ModelSettings settings) throws OrtException {
        OrtSession.SessionOptions options = new OrtSession.SessionOptions();
        try {
            options.setIntraOpNumThreads(settings.intraOpThreads());
            options.setInterOpNumThreads(1);
            // A thread that spins takes the processor from other models' runs.
            options.addConfigEntry("session.intra_op.allow_spinning", "0");
            // What fails is reported by us; ONNX Runtime would write it to the process's standard error.
            options.setSessionLogLevel(OrtLoggingLevel.ORT_LOGGING_LEVEL_FATAL);
            return options;
        } catch (OrtException e) {
            options.close();
            throw e;
        }
    }

    public ModelRef ref() {
        return ref;
    }

    public ModelSettings settings() {
        return settings;
    }

    /** Whether a translator stands before it, which wants more of a request than tensors of the right shape. */
    public boolean translated() {
        return translated != null;
    }

    private ModelCheck seen() {
        return translated == null ? check : translated.check();
    }

    /** As V2 sees them, in the model's order. */
    public List<TensorMetadata> inputs() {
        return seen().signature().inputs().stream().map(TensorSpec::metadata).toList();
    }

    /** As V2 sees them, in the model's order. What the model gives as maps is a tensor, its columns in "labels". */
    public List<TensorMetadata> outputs() {
        return seen().signature().outputs().stream().map(TensorSpec::metadata).toList();
    }

    /** What runs the model, for its metadata. */
    public Map<String, Parameter> parameters() {
        Map<String, Parameter> parameters = new LinkedHashMap<>();
        parameters.put(
                "runtime", new Parameter.Text("onnxruntime " + OrtRuntime.get().version()));
        parameters.putAll(placed.placement().parameters());
        if (translated != null) {
            parameters.put(
                    "translator", new Parameter.Text(translated.translation().name()));
        }
        return parameters;
    }

    /** What its runs have copied. */
    public CopyCounter copies() {
        return copies;
    }

    NativeSession graph() {
        return graph;
    }

    Signature signature() {
        return check.signature();
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

    /** Ends a use. The last one closes the session, which takes its time. */
    public void release() {
        if (users.decrementAndGet() == 0) {
            close();
        }
    }

    private void close() {
        // DJL's model closes the block, and the block its session.
        owner.close();
        if (translated != null) {
            translated.translation().close();
        }
    }

    /** Ends a use on a thread that must not wait: an output is released by an event loop. */
    void releaseLate() {
        if (users.decrementAndGet() == 0) {
            Thread.ofPlatform().daemon().name("isthmus-local-close").start(this::close);
        }
    }

    /** Whether nobody uses it any more. */
    boolean closed() {
        return users.get() == 0;
    }

    /**
     * That a request fits the model.
     *
     * @param request borrowed
     * @throws OipException INVALID_ARGUMENT naming tensor, value and expectation
     */
    public void require(InferRequest request) {
        seen().require(request);
    }

    /**
     * Runs the model, on the calling thread. Inputs that lie in one piece outside the heap are read where they are.
     *
     * @param request borrowed; checked by {@link #require}
     * @param allocator of outputs, and of copies where they are needed
     * @return the outputs, owned by the caller, in the order of the request or else of the model
     * @throws OipException CANCELLED when terminated, INVALID_ARGUMENT where the model does not take these values, INTERNAL
     */
    public List<Tensor> run(InferRequest request, RunHandle handle, ByteBufAllocator allocator) {
        if (translated == null) {
            return runSession(request, handle, allocator);
        }
        return translated
                .translation()
                .run(
                        request,
                        inner -> {
                            check.require(inner);
                            return runSession(inner, handle, allocator);
                        },
                        allocator);
    }

    private List<Tensor> runSession(InferRequest request, RunHandle handle, ByteBufAllocator allocator) {
        NativeArguments arguments = handle.arguments();
        arguments.prepare(graph);
        try (InputBinding feed = InputBinding.of(signature(), request, arguments, allocator, copies)) {
            return fetched(request, feed, handle, allocator);
        } catch (OrtException e) {
            throw failure(e, handle);
        }
    }

    private List<Tensor> fetched(InferRequest request, InputBinding feed, RunHandle handle, ByteBufAllocator allocator)
            throws OrtException {
        boolean tried = pinning;
        try (OutputBinding fetch = OutputBinding.of(this, request, feed.arguments(), tried, allocator)) {
            OrtApi.run(graph, handle.options(), feed.arguments(), fetch.count());
            return fetch.collect();
        } catch (OrtException e) {
            if (!tried || !RunFailure.shape(e)) {
                throw e;
            }
            LOG.warn("model {} has outputs of other shapes than it says; from now on they are taken as they come", ref);
            pinning = false;
        }
        return fetched(request, feed, handle, allocator);
    }

    private OipException failure(OrtException e, RunHandle handle) {
        String model = "model '" + ref.name() + "': ";
        if (handle.terminated()) {
            return new OipException(ErrorCode.CANCELLED, model + "the run was cancelled", e);
        }
        if (e.getCode() == OrtErrorCode.ORT_INVALID_ARGUMENT) {
            return new OipException(ErrorCode.INVALID_ARGUMENT, model + RunFailure.reason(e), e);
        }
        return new OipException(ErrorCode.INTERNAL, model + "the run failed", e);
    }
}
