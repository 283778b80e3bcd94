package dev.isthmus.local.ort;

import ai.djl.Model;
import ai.djl.onnxruntime.engine.OrtNDManager;
import ai.djl.onnxruntime.engine.OrtSymbolBlock;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtException.OrtErrorCode;
import ai.onnxruntime.OrtLoggingLevel;
import ai.onnxruntime.OrtSession;
import dev.isthmus.local.call.RunningModels;
import dev.isthmus.local.repository.Declaration;
import dev.isthmus.local.repository.HeapMemory;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.ModelSource;
import dev.isthmus.local.repository.TensorConfig;
import dev.isthmus.local.translate.Translation;
import dev.isthmus.local.translate.TranslatorSource;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Tensor;
import dev.isthmus.proto.onnx.ModelProto;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A loaded version of a model. Concurrent runs are allowed on any thread. Reference-counted: the session is closed when
 * the last user has released it, including outputs still being read. Closing it during a run would crash the process.
 */
public final class OnnxModel {
    /** The platform in the metadata of these models. */
    public static final String PLATFORM = "onnxruntime_onnx";

    private static final Logger LOG = LoggerFactory.getLogger(OnnxModel.class);

    private final ModelRef ref;
    private final ModelSettings settings;
    private final Devices.PlacedSession placed;
    private final Model owner;
    private final ModelCheck check;
    private final NativeSession graph;
    private final @Nullable Translated translated;
    private final CopyCounter copies = new CopyCounter();
    private final AtomicInteger users = new AtomicInteger(1);
    private volatile boolean preallocating = true;

    /** A translator and the check of client requests. */
    private record Translated(Translation translation, ModelCheck check) {}

    private OnnxModel(
            ModelSource source,
            Devices.PlacedSession placed,
            Model owner,
            Signature whole,
            @Nullable Translated translated) {
        this.ref = new ModelRef(source.name(), source.version());
        this.settings =
                translated == null ? source.settings() : source.settings().unbatched();
        this.placed = placed;
        this.owner = owner;
        this.check = translated == null
                ? new ModelCheck(ref.name(), whole.limitedTo(settings), settings.limits() ? settings.maxBatchSize() : 0)
                : new ModelCheck(ref.name(), whole, 0);
        this.graph = NativeSession.of(placed.session(), whole);
        this.translated = translated;
    }

    /**
     * Loads a model. The caller owns the first reference.
     *
     * @param device cpu, gpu:N or auto
     * @throws OipException FAILED_PRECONDITION with the reason if it cannot be loaded, or has inputs or outputs that
     *     are not supported
     */
    public static OnnxModel load(ModelSource source, String device) {
        return load(source, device, OrtRuntime.get());
    }

    static OnnxModel load(ModelSource source, String device, OrtRuntime runtime) {
        runtime.requireUsable();
        ModelRef ref = new ModelRef(source.name(), source.version());
        byte[] onnx = source.onnx().read();
        ModelProto file = OnnxProto.parse(onnx);
        ModelProto guarded = TrappingNodes.guarded(file);
        try {
            ZipMaps zipMaps = ZipMaps.of(
                    guarded,
                    node -> session(runtime, node, source, DevicePlacement.CPU).close());
            byte[] opened = bytes(zipMaps.model(), file, onnx);
            Devices.PlacedSession placed = Devices.place(ref, device, place -> session(runtime, opened, source, place));
            try {
                Signature signature = Signature.of(placed.session(), zipMaps.labels(), file.getGraph());
                TranslatorSource translator = translator(ref, source, signature);
                Signature seen =
                        translator == null ? signature : Signature.declared(translator.inputs(), translator.outputs());
                Declaration.require(
                        source.settings(), Signature.metadata(seen.inputs()), Signature.metadata(seen.outputs()));
                Translated translated = translator == null
                        ? null
                        : new Translated(Translation.load(translator), new ModelCheck(ref.name(), seen, 0));
                Model owner =
                        Model.newInstance(source.name(), placed.placement().device(), "OnnxRuntime");
                owner.setBlock(new OrtSymbolBlock(placed.session(), (OrtNDManager) owner.getNDManager()));
                return new OnnxModel(source, placed, owner, signature, translated);
            } catch (RuntimeException | OrtException e) {
                placed.session().close();
                throw e;
            }
        } catch (OrtException e) {
            // The Java API supports tensors, sequences and maps.
            String reason = e.getCode() == OrtErrorCode.ORT_NOT_IMPLEMENTED
                    ? "it has an operator, input or output that this ONNX Runtime does not support: "
                    : "it is not a model that ONNX Runtime supports: ";
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    reason + LoadFailure.reason(e, source.onnx().folder()),
                    e);
        }
    }

    /** The file itself if nothing in it was changed. */
    @SuppressWarnings("ReferenceEquality")
    private static byte[] bytes(ModelProto model, ModelProto file, byte[] onnx) {
        return model == file
                ? onnx
                : HeapMemory.allocate(
                        "the model with its guarded nodes", model.getSerializedSize(), model::toByteArray);
    }

    private static OrtSession session(OrtRuntime runtime, byte[] onnx, ModelSource source, DevicePlacement placement)
            throws OrtException {
        try (OrtSession.SessionOptions options = options(source)) {
            placement.addTo(options);
            return runtime.environment().createSession(onnx, options);
        }
    }

    private static @Nullable TranslatorSource translator(ModelRef ref, ModelSource source, Signature signature) {
        ModelSettings settings = source.settings();
        if (settings.translator() == null && source.jars().isEmpty()) {
            return null;
        }
        return new TranslatorSource(
                ref,
                settings.translator(),
                source.jars(),
                settings.inputs().stream().map(TensorConfig::metadata).toList(),
                settings.outputs().stream().map(TensorConfig::metadata).toList(),
                signature.inputs().stream().map(TensorSpec::name).toList());
    }

    private static OrtSession.SessionOptions options(ModelSource source) throws OrtException {
        OrtSession.SessionOptions options = new OrtSession.SessionOptions();
        try {
            options.setIntraOpNumThreads(source.settings().intraOpThreads());
            options.setInterOpNumThreads(1);
            // A spinning thread takes the processor from other models' runs.
            options.addConfigEntry("session.intra_op.allow_spinning", "0");
            Path folder = source.onnx().folder();
            if (folder != null) {
                // Weights in files of their own. It refuses those outside, and sizes beyond a file's end.
                options.addConfigEntry("session.model_external_initializers_file_folder_path", folder.toString());
            }
            // Failures are reported here; ONNX Runtime would also write them to standard error.
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

    /** Whether it has a translator, which may require more of a request than tensors of the right shape. */
    public boolean translated() {
        return translated != null;
    }

    private ModelCheck clientCheck() {
        return translated == null ? check : translated.check();
    }

    /** The inputs as clients see them, in the model's order. */
    public List<TensorMetadata> inputs() {
        return Signature.metadata(clientCheck().signature().inputs());
    }

    /**
     * The outputs as clients see them, in the model's order. Outputs that are maps in the model are tensors whose
     * columns are listed in the parameter "labels".
     */
    public List<TensorMetadata> outputs() {
        return Signature.metadata(clientCheck().signature().outputs());
    }

    /** Metadata parameters: the runtime, the device and the translator. */
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

    /** The counter of bytes copied by its runs. */
    public CopyCounter copies() {
        return copies;
    }

    /** An empty buffer for an input of so many bytes, which a run reads in place. */
    public static ByteBuf inputBuffer(ByteBufAllocator allocator, int bytes) {
        return NativeMemory.allocate(allocator, bytes);
    }

    NativeSession graph() {
        return graph;
    }

    Signature signature() {
        return check.signature();
    }

    /** Adds a reference; returns false if the model is closed. */
    public boolean retain() {
        return users.getAndUpdate(now -> now == 0 ? 0 : now + 1) > 0;
    }

    /** Removes a reference. The last one closes the session, which takes some time. */
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

    /** Removes a reference on a thread that must not block: outputs are released by event loops. */
    void releaseAsync() {
        if (users.decrementAndGet() == 0) {
            Thread.ofPlatform().daemon().name("isthmus-local-close").start(this::close);
        }
    }

    /** Whether it has no references left. */
    public boolean closed() {
        return users.get() == 0;
    }

    /**
     * Requires that a request matches the model.
     *
     * @param request borrowed
     * @throws OipException INVALID_ARGUMENT naming tensor, value and expectation
     */
    public void require(InferRequest request) {
        clientCheck().require(request);
    }

    /**
     * Runs the model on the calling thread. Inputs in contiguous, aligned direct memory are read in place.
     *
     * @param request borrowed; checked by {@link #require}
     * @param allocator the allocator of outputs and of copies of inputs
     * @return the outputs, owned by the caller, in the order of the request or, if it names none, of the model
     * @throws OipException CANCELLED if terminated, INVALID_ARGUMENT if the model does not accept the values, INTERNAL
     */
    public List<Tensor> run(InferRequest request, RunHandle handle, ByteBufAllocator allocator) {
        int running = RunningModels.begun(ref.name());
        try {
            return runNoted(request, handle, allocator);
        } finally {
            RunningModels.ended(running);
        }
    }

    private List<Tensor> runNoted(InferRequest request, RunHandle handle, ByteBufAllocator allocator) {
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
        handle.arguments().prepare(graph);
        try (InputBinding inputs = new InputBinding(handle.arguments(), allocator, copies)) {
            inputs.add(signature(), request);
            return fetched(request, handle, allocator);
        } catch (OrtException e) {
            throw failure(e, handle);
        }
    }

    private List<Tensor> fetched(InferRequest request, RunHandle handle, ByteBufAllocator allocator)
            throws OrtException {
        boolean preallocated = preallocating;
        try (OutputBinding outputs = new OutputBinding(this, request, handle.arguments(), allocator)) {
            outputs.prepare(preallocated);
            OrtApi.run(graph, handle.options(), handle.arguments(), outputs.count());
            return outputs.collect();
        } catch (OrtException e) {
            if (!preallocated || !RunFailure.shape(e)) {
                throw e;
            }
            LOG.atWarn()
                    .addKeyValue("model", ref.name())
                    .log("model {} has outputs of other shapes than it declares; they are no longer preallocated", ref);
            preallocating = false;
        }
        return fetched(request, handle, allocator);
    }

    private OipException failure(OrtException e, RunHandle handle) {
        String model = "model '" + ref.name() + "': ";
        if (handle.terminated()) {
            return new OipException(ErrorCode.CANCELLED, model + "the run was cancelled", e);
        }
        String refusal = RunFailure.refusal(e);
        if (refusal != null) {
            return new OipException(ErrorCode.INVALID_ARGUMENT, model + refusal, e);
        }
        return new OipException(ErrorCode.INTERNAL, model + "the run failed", e);
    }

    /** Extracts from ONNX Runtime's message why it refuses a model, for the operator who wrote or exported it. */
    private static final class LoadFailure {
        /** ONNX Runtime's source file, line and function, as in "/onnxruntime_src/a/b.cc:195 void f(int) ". */
        private static final Pattern SOURCE = Pattern.compile("\\S*\\.(?:cc|h|cpp|cuh?):\\d+\\s*");

        private static final Pattern CODE = Pattern.compile("^Error code - ORT_\\w+ - message: ");
        /** An absolute path, as it stands in messages about files of weights. */
        private static final Pattern PATH = Pattern.compile("\"(/[^\"]*)\"|\\[(/[^\\]]*)\\]|(?<= in )(/[^,]*)");

        private static final Pattern SPACE = Pattern.compile("\\s+");
        private static final int MAX = 500;

        private LoadFailure() {}

        /** @param folder the folder of the model's files; null if it has none */
        static String reason(OrtException e, @Nullable Path folder) {
            String message = e.getMessage() == null ? "" : e.getMessage();
            String text =
                    CODE.matcher(SPACE.matcher(message).replaceAll(" ").strip()).replaceFirst("");
            String reason =
                    SOURCE.matcher(withoutPaths(text, folder)).replaceAll("").strip();
            return reason.length() > MAX ? reason.substring(0, MAX) + "…" : reason;
        }

        /** Paths in the model's folder are named relative to it, others are left out. */
        private static String withoutPaths(String text, @Nullable Path folder) {
            return folder == null || !text.contains(folder.toString())
                    ? text
                    : PATH.matcher(text)
                            .replaceAll(found -> Matcher.quoteReplacement(
                                    described(Path.of(found.group().replaceAll("[\"\\[\\]]", "")), folder)));
        }

        private static String described(Path path, Path folder) {
            if (path.equals(folder)) {
                return "the version's folder";
            }
            return path.startsWith(folder) ? "'" + folder.relativize(path) + "'" : "a path outside of it";
        }
    }

    /** Interprets ONNX Runtime's message for a failed run. */
    private static final class RunFailure {
        private static final String STATUS = "Status Message: ";
        private static final String NODE = "while running ";
        private static final String CONDITION = " was false. ";
        /** "file:line function " of a status, or the function's whole signature after a path. */
        private static final Pattern SOURCE = Pattern.compile(
                "^(?:[\\w.]+:\\d+ \\S+ |/\\S+:\\d+ .*?\\)(?: const)?(?: \\[with .*\\])? )", Pattern.DOTALL);
        /** Paths, source files, C++ names and addresses. */
        private static final Pattern INTERNAL =
                Pattern.compile("(?:^|[\\s'\"(:=])/\\w|\\w\\.(?:cc|cpp|cu|cuh|h|hpp)\\b|::|0x[0-9a-fA-F]{6}");

        private RunFailure() {}

        /**
         * The reason why the values of the request are refused, as clients may see it: no paths, nodes or addresses. Null if
         * they are not the cause. An operator does not know whether a client or the model's author chose its operands, so
         * every failure of a node counts as a refusal, except for those of memory and devices.
         */
        static @Nullable String refusal(OrtException e) {
            String message = text(e);
            boolean refused = switch (e.getCode()) {
                case ORT_INVALID_ARGUMENT -> true;
                case ORT_FAIL, ORT_RUNTIME_EXCEPTION -> message.contains(NODE) && message.contains(STATUS);
                default -> false;
            };
            return refused && !ofResources(message) ? reason(message) : null;
        }

        private static boolean ofResources(String message) {
            String text = message.toLowerCase(Locale.ROOT);
            return Stream.of("allocat", "bad_alloc", "out of memory", "cuda", "cudnn", "cublas", "terminate flag")
                    .anyMatch(text::contains);
        }

        private static String reason(String message) {
            int status = message.lastIndexOf(STATUS);
            String reason = status < 0 ? message : message.substring(status + STATUS.length());
            int condition = reason.indexOf(CONDITION);
            if (condition >= 0) {
                reason = reason.substring(condition + CONDITION.length());
            } else {
                Matcher source = SOURCE.matcher(reason);
                reason = source.find() ? reason.substring(source.end()) : reason;
            }
            // A word alone is the name of a C function.
            boolean sentence = reason.strip().contains(" ");
            return sentence && !INTERNAL.matcher(reason).find()
                    ? reason.strip()
                    : "the model does not accept the values";
        }

        /** Whether an output did not match the shape of its preallocated memory. */
        static boolean shape(OrtException e) {
            String text = text(e);
            return text.contains("shape verification failed") || text.contains("pre-allocated output");
        }

        private static String text(OrtException e) {
            String message = e.getMessage();
            return message == null ? "" : message;
        }
    }
}
