package dev.isthmus.local.repository;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.TextFormat;
import com.google.protobuf.TextFormatParseInfoTree;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.proto.config.ModelConfig;
import dev.isthmus.proto.config.ModelInput;
import dev.isthmus.proto.config.ModelInstanceGroup;
import dev.isthmus.proto.config.ModelOutput;
import dev.isthmus.proto.config.ModelTensorReshape;
import dev.isthmus.proto.config.ModelVersionPolicy;
import dev.isthmus.proto.config.ModelWarmup;
import dev.isthmus.proto.config.ModelWarmup.Input.InputDataTypeCase;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reads Triton's config.pbtxt, limited to the fields of model_config.proto. Other fields are reported as ignored;
 * settings that this backend contradicts fail.
 */
final class ConfigPbtxt {
    static final String NAME = "config.pbtxt";
    /** The parser's "line:column: message.field" for each unknown field. */
    private static final Pattern UNKNOWN = Pattern.compile("^\\d+:\\d+:\\tinference\\.([\\w.]+)$", Pattern.MULTILINE);

    private static final String UNKNOWN_FIELDS = "Input contains unknown fields";
    private static final String TRANSLATOR = "translator";
    private static final String THREADS = "intra_op_thread_count";
    private static final int MAX_THREADS = 1024;
    private static final int MAX_BATCH = 1_000_000;
    private static final int MAX_WARM_UPS = 64;
    private static final int MAX_WARM_UP_RUNS = 1000;
    private static final long MAX_DELAY_MICROS = 60_000_000;

    private final ModelConfig config;
    private final List<String> ignored;
    private final TextFormatParseInfoTree lines;

    private ConfigPbtxt(ModelConfig config, List<String> ignored, TextFormatParseInfoTree lines) {
        this.config = config;
        this.ignored = ignored;
        this.lines = lines;
    }

    /** @throws OipException FAILED_PRECONDITION naming value and expectation */
    static ModelFile read(String text) {
        ModelConfig.Builder config = ModelConfig.newBuilder();
        List<String> ignored = new ArrayList<>();
        TextFormatParseInfoTree.Builder lines = TextFormatParseInfoTree.builder();
        try {
            TextFormat.Parser.newBuilder()
                    .setRecursionLimit(32)
                    .setSingularOverwritePolicy(TextFormat.Parser.SingularOverwritePolicy.FORBID_SINGULAR_OVERWRITES)
                    .setParseInfoTreeBuilder(lines)
                    .build()
                    .merge(text, config);
        } catch (TextFormat.ParseException e) {
            // The known fields are still read: the parser reports all unknown ones at the end.
            String message = String.valueOf(e.getMessage());
            if (!message.contains(UNKNOWN_FIELDS)) {
                throw new OipException(ErrorCode.FAILED_PRECONDITION, NAME + ": " + PbtxtMessage.of(message), e);
            }
            Matcher names = UNKNOWN.matcher(message);
            while (names.find()) {
                ignored.add(field(names.group(1)));
            }
        }
        return new ConfigPbtxt(config.build(), ignored, lines.build()).file();
    }

    /** The field's name in the file: "ModelInput.format" is input.format. */
    private static String field(String name) {
        String field = name.replaceFirst("^ModelConfig\\.", "");
        return field.replaceFirst("^ModelInput\\.", "input.")
                .replaceFirst("^ModelOutput\\.", "output.")
                .replaceFirst("^ModelInstanceGroup\\.", "instance_group.")
                .replaceFirst("^ModelDynamicBatching\\.", "dynamic_batching.")
                .replaceFirst("^ModelVersionPolicy\\.", "version_policy.")
                .replaceFirst("^ModelParameter\\.", "parameters.")
                .replaceFirst("^ModelWarmup\\.", "model_warmup.");
    }

    private ModelFile file() {
        requireOnnx();
        InstanceGroups groups = InstanceGroups.of(config.getInstanceGroupList(), ignored);
        ModelSettings settings = new ModelSettings(
                versions(),
                within("max_batch_size", config.getMaxBatchSize(), MAX_BATCH),
                delay(),
                groups.count(),
                groups.device(),
                threads(),
                parameter(TRANSLATOR),
                tensors("input", config.getInputList(), ModelInput::getName, this::input),
                tensors("output", config.getOutputList(), ModelOutput::getName, this::output),
                true,
                Map.of());
        config.getParametersMap().keySet().stream()
                .filter(name -> !name.equals(TRANSLATOR) && !name.equals(THREADS))
                .sorted()
                .forEach(name -> ignored.add("parameters." + name));
        List<WarmUpRequest> warmUps = warmUps();
        String file = config.getDefaultModelFilename();
        if (file.contains("/") || file.contains("\\") || file.startsWith(".")) {
            throw refused(
                    "default_model_filename '" + file + "': the name of a file in the version's folder is expected");
        }
        return new ModelFile(given(config.getName()), settings, warmUps, labels(), given(file), null, ignored);
    }

    /** The requests of zeros and of random values; those from files are ignored. */
    private List<WarmUpRequest> warmUps() {
        if (config.getModelWarmupCount() > MAX_WARM_UPS) {
            throw refused("model_warmup: at most " + MAX_WARM_UPS + " samples are expected, got "
                    + config.getModelWarmupCount());
        }
        List<WarmUpRequest> warmUps = new ArrayList<>();
        for (ModelWarmup sample : config.getModelWarmupList()) {
            boolean files = sample.getInputsMap().values().stream()
                    .anyMatch(input -> input.getInputDataTypeCase() == InputDataTypeCase.INPUT_DATA_FILE);
            if (files) {
                ignored.add("model_warmup '" + sample.getName() + "' with its input_data_file");
            } else {
                warmUps.add(warmUp(sample));
            }
        }
        return warmUps;
    }

    private WarmUpRequest warmUp(ModelWarmup sample) {
        String what = "model_warmup '" + sample.getName() + "': ";
        if (Integer.compareUnsigned(sample.getCount(), MAX_WARM_UP_RUNS) > 0) {
            throw refused(what + "count from 0 to " + MAX_WARM_UP_RUNS + " is expected, got "
                    + Integer.toUnsignedString(sample.getCount()));
        }
        if (Integer.compareUnsigned(sample.getBatchSize(), MAX_BATCH) > 0) {
            throw refused(what + "batch_size from 0 to " + MAX_BATCH + " is expected, got "
                    + Integer.toUnsignedString(sample.getBatchSize()));
        }
        Long batch = config.getMaxBatchSize() > 0 ? Long.valueOf(Math.max(sample.getBatchSize(), 1)) : null;
        List<WarmUpRequest.Input> inputs = new ArrayList<>();
        new TreeMap<>(sample.getInputsMap())
                .forEach((name, input) -> inputs.add(warmUpInput(what, name, input, batch)));
        return new WarmUpRequest(sample.getName(), Math.max(sample.getCount(), 1), inputs);
    }

    private static WarmUpRequest.Input warmUpInput(
            String sample, String name, ModelWarmup.Input input, @Nullable Long batch) {
        String what = sample + "input '" + name + "': ";
        Shape shape = shape(what, batch, input.getDimsList());
        if (shape.toList().contains(-1L)) {
            throw refused(what + "dims without -1 are expected, got " + input.getDimsList());
        }
        boolean random = switch (input.getInputDataTypeCase()) {
            case RANDOM_DATA -> input.getRandomData();
            case ZERO_DATA, INPUT_DATA_FILE, INPUTDATATYPE_NOT_SET -> false;
        };
        return new WarmUpRequest.Input(name, type(what, input.getDataType()), shape, random);
    }

    private Map<String, String> labels() {
        return config.getOutputList().stream()
                .filter(output -> !output.getLabelFilename().isEmpty())
                .collect(Collectors.toUnmodifiableMap(ModelOutput::getName, ModelOutput::getLabelFilename));
    }

    private static @Nullable String given(String text) {
        return text.isEmpty() ? null : text;
    }

    private void requireOnnx() {
        if (!config.getPlatform().isEmpty() && !config.getPlatform().equals("onnxruntime_onnx")) {
            throw refused("platform '" + config.getPlatform() + "': 'onnxruntime_onnx' is expected");
        }
        if (!config.getBackend().isEmpty() && !config.getBackend().equals("onnxruntime")) {
            throw refused("backend '" + config.getBackend() + "': 'onnxruntime' is expected");
        }
    }

    private VersionPolicy versions() {
        ModelVersionPolicy policy = config.getVersionPolicy();
        return switch (policy.getPolicyChoiceCase()) {
            case LATEST -> new VersionPolicy.Latest(latest(policy.getLatest().getNumVersions()));
            case ALL -> new VersionPolicy.All();
            case SPECIFIC -> specific(policy.getSpecific().getVersionsList());
            case POLICYCHOICE_NOT_SET -> VersionPolicy.DEFAULT;
        };
    }

    private static int latest(int versions) {
        if (versions < 1) {
            throw refused("version_policy: latest: num_versions from 1 on is expected, got "
                    + Integer.toUnsignedString(versions));
        }
        return versions;
    }

    private static VersionPolicy specific(Collection<Long> versions) {
        for (long version : versions) {
            if (version < 1 || version > ModelFolder.MAX_VERSION) {
                throw refused("version_policy: specific: versions from 1 to " + ModelFolder.MAX_VERSION
                        + " are expected, got " + version);
            }
        }
        if (versions.isEmpty()) {
            throw refused("version_policy: specific: at least one version is expected");
        }
        return new VersionPolicy.Specific(new TreeSet<>(versions));
    }

    private @Nullable Duration delay() {
        if (!config.hasDynamicBatching()) {
            return null;
        }
        long micros = config.getDynamicBatching().getMaxQueueDelayMicroseconds();
        if (micros < 0 || micros > MAX_DELAY_MICROS) {
            throw refused("dynamic_batching: max_queue_delay_microseconds from 0 to " + MAX_DELAY_MICROS
                    + " is expected, got " + Long.toUnsignedString(micros));
        }
        return Duration.ofNanos(micros * 1000);
    }

    private @Nullable String parameter(String name) {
        var parameter = config.getParametersMap().get(name);
        return parameter == null ? null : given(parameter.getStringValue());
    }

    /** In Triton, 0 means the runtime's default; here that is one thread. */
    private int threads() {
        String text = parameter(THREADS);
        if (text == null) {
            return ModelSettings.DEFAULT.intraOpThreads();
        }
        int threads = text.matches("[0-9]{1,4}") ? Integer.parseInt(text) : -1;
        if (threads < 0 || threads > MAX_THREADS) {
            throw refused("parameters: " + THREADS + " from 0 to " + MAX_THREADS + " is expected, got '" + text + "'");
        }
        return Math.max(threads, 1);
    }

    private TensorConfig input(ModelInput input) {
        TensorMetadata metadata = tensor("input", input.getName(), input.getDataType(), input.getDimsList());
        if (input.getAllowRaggedBatch()) {
            ignored.add("input.allow_ragged_batch");
            boolean batches = config.getMaxBatchSize() > 0;
            return new TensorConfig(metadata, batches ? Shape.of(-1) : null, batches);
        }
        return input.hasReshape()
                ? reshaped("input", metadata, input.getDimsList(), input.getReshape())
                : new TensorConfig(metadata, null);
    }

    private TensorConfig output(ModelOutput output) {
        TensorMetadata metadata = tensor("output", output.getName(), output.getDataType(), output.getDimsList());
        return output.hasReshape()
                ? reshaped("output", metadata, output.getDimsList(), output.getReshape())
                : new TensorConfig(metadata, null);
    }

    /** The fixed extents before, between and behind the variable ones must make as many elements. */
    private TensorConfig reshaped(String kind, TensorMetadata tensor, List<Long> dims, ModelTensorReshape reshape) {
        String what = kind + " '" + tensor.name() + "': ";
        if (!elements(dims).equals(elements(reshape.getShapeList()))) {
            throw refused(what + "a reshape of as many elements as dims " + dims + " is expected, got "
                    + reshape.getShapeList());
        }
        return new TensorConfig(tensor, shape(what, batch(), reshape.getShapeList()));
    }

    private static List<BigInteger> elements(List<Long> dims) {
        List<BigInteger> products = new ArrayList<>(List.of(BigInteger.ONE));
        for (long extent : dims) {
            if (extent < 0) {
                products.add(BigInteger.ONE);
            } else {
                products.set(products.size() - 1, products.getLast().multiply(BigInteger.valueOf(extent)));
            }
        }
        return products;
    }

    private @Nullable Long batch() {
        return config.getMaxBatchSize() > 0 ? -1L : null;
    }

    /** Reads the tensors of a kind, each of which may be listed once. */
    private <T> List<TensorConfig> tensors(
            String kind, List<T> all, Function<T, String> name, Function<T, TensorConfig> tensor) {
        List<Integer> at = nameLines(kind);
        // Entries without a name cannot be told apart.
        boolean known = at.size() == all.size();
        Map<String, Integer> seen = new HashMap<>();
        List<TensorConfig> tensors = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            String place = known ? "line " + at.get(i) + ": " : "";
            Integer before = seen.putIfAbsent(name.apply(all.get(i)), i);
            if (before != null) {
                throw refused(place + kind + " '" + name.apply(all.get(i)) + "' is expected once"
                        + (known ? ", but is also in line " + at.get(before) : ""));
            }
            try {
                tensors.add(tensor.apply(all.get(i)));
            } catch (OipException e) {
                throw refused(place + e.message().substring(NAME.length() + 2));
            }
        }
        return tensors;
    }

    /** The lines of the names of all inputs or outputs. */
    private List<Integer> nameLines(String kind) {
        FieldDescriptor tensor = ModelConfig.getDescriptor().findFieldByName(kind);
        FieldDescriptor name = tensor.getMessageType().findFieldByName("name");
        return lines.getNestedTrees(tensor).stream()
                .flatMap(entry -> entry.getLocations(name).stream())
                .map(location -> location.getLine() + 1)
                .toList();
    }

    private TensorMetadata tensor(String kind, String name, dev.isthmus.proto.config.DataType type, List<Long> dims) {
        String what = kind + " '" + name + "': ";
        if (dims.contains(0L)) {
            throw refused(what + "dims of -1 or from 1 on are expected, got " + dims);
        }
        Shape shape = shape(what, batch(), dims);
        return new TensorMetadata(name, type(what, type).name(), shape, Map.of());
    }

    /** @param batch the batch dimension to prepend to dims; null for none */
    static Shape shape(String what, @Nullable Long batch, List<Long> dims) {
        List<Long> extents = new ArrayList<>(dims);
        if (batch != null) {
            extents.addFirst(batch);
        }
        if (extents.size() > Shape.MAX_RANK || dims.stream().anyMatch(extent -> extent < -1)) {
            throw refused(what + "dims of at most " + Shape.MAX_RANK + " extents from -1 on are expected, got " + dims);
        }
        return Shape.of(extents);
    }

    static DataType type(String what, dev.isthmus.proto.config.DataType type) {
        // TYPE_FP32, for example.
        String name = type.name().substring(type.name().indexOf('_') + 1);
        return DataType.byName(name.equals("STRING") ? "BYTES" : name)
                .orElseThrow(() -> refused(what + "a data_type such as TYPE_FP32 is expected"));
    }

    private static int within(String field, int value, int max) {
        if (value < 0 || value > max) {
            throw refused(field + " from 0 to " + max + " is expected, got " + value);
        }
        return value;
    }

    static OipException refused(String problem) {
        return new OipException(ErrorCode.FAILED_PRECONDITION, NAME + ": " + problem);
    }

    /** Rephrases messages of protobuf's text parser, which has those of the JDK's number parsers in them. */
    private static final class PbtxtMessage {
        /** The parser's "line:column: message". */
        private static final Pattern PLACE = Pattern.compile("^(\\d+):(\\d+): (.*)$", Pattern.DOTALL);

        private static final Pattern INTEGER =
                Pattern.compile("^Couldn't parse integer: For input string: \"(.*?)\"( under radix \\d+)?$");
        private static final Pattern RANGE = Pattern.compile(
                "^Couldn't parse integer: Number out of range for (\\d+)-bit (un)?signed integer: (.*)$");
        private static final Pattern NUMBER = Pattern.compile("^Couldn't parse number: For input string: \"(.*?)\"$");
        private static final Pattern TWICE = Pattern.compile(
                "^Non-repeated field \"(?:inference\\.)?(?:ModelConfig\\.)?(.*)\" cannot be overwritten\\.$");

        private PbtxtMessage() {}

        static String of(String message) {
            Matcher place = PLACE.matcher(message);
            return place.matches()
                    ? "line " + place.group(1) + ", column " + place.group(2) + ": " + reason(place.group(3))
                    : message;
        }

        private static String reason(String text) {
            Matcher integer = INTEGER.matcher(text);
            if (integer.matches()) {
                return "a whole number is expected, got " + integer.group(1);
            }
            Matcher range = RANGE.matcher(text);
            if (range.matches()) {
                return "a whole number of " + range.group(1) + " bits is expected, got " + range.group(3);
            }
            Matcher number = NUMBER.matcher(text);
            if (number.matches()) {
                return "a number is expected, got " + number.group(1);
            }
            Matcher twice = TWICE.matcher(text);
            return twice.matches() ? twice.group(1) + " is expected once" : text;
        }
    }

    /**
     * The effect of {@code instance_group}: a model has one session on one device.
     *
     * @param count the maximum concurrent runs; 0 for the number of threads
     * @param device the device; null for the backend's
     */
    private record InstanceGroups(int count, @Nullable String device) {
        private static final int MAX = 1024;
        private static final int MAX_GPU = 255;

        /** @param ignored receives the fields that have no effect */
        static InstanceGroups of(List<ModelInstanceGroup> groups, List<String> ignored) {
            if (groups.isEmpty()) {
                return new InstanceGroups(0, null);
            }
            String device = device(groups.getFirst(), ignored);
            long count = 0;
            for (ModelInstanceGroup group : groups) {
                if (!Objects.equals(device, device(group, ignored))) {
                    ignored.add("instance_group.kind of all but the first group");
                }
                if (group.getCount() < 0 || group.getCount() > MAX) {
                    throw ConfigPbtxt.refused(
                            "instance_group: count from 0 to " + MAX + " is expected, got " + group.getCount());
                }
                count += Math.max(group.getCount(), 1);
            }
            return new InstanceGroups((int) Math.min(count, MAX), device);
        }

        private static @Nullable String device(ModelInstanceGroup group, List<String> ignored) {
            for (int gpu : group.getGpusList()) {
                if (gpu < 0 || gpu > MAX_GPU) {
                    throw ConfigPbtxt.refused(
                            "instance_group: gpus from 0 to " + MAX_GPU + " are expected, got " + gpu);
                }
            }
            if (group.getGpusCount() > 1) {
                ignored.add("instance_group.gpus but the first");
            }
            return switch (group.getKind()) {
                case KIND_CPU, KIND_MODEL -> {
                    if (group.getGpusCount() > 0) {
                        throw ConfigPbtxt.refused(
                                "instance_group: gpus are expected with KIND_GPU or KIND_AUTO only, got "
                                        + group.getKind());
                    }
                    yield group.getKind() == ModelInstanceGroup.Kind.KIND_CPU ? "cpu" : null;
                }
                case KIND_GPU -> "gpu:" + (group.getGpusCount() == 0 ? 0 : group.getGpus(0));
                case KIND_AUTO, UNRECOGNIZED -> group.getGpusCount() == 0 ? null : "auto";
            };
        }
    }
}
