package dev.isthmus.gateway.call;

import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What the last segment of a model's REST path asks for: {@code /v2/models/{model}/infer}. Those of the management
 * extensions are in {@link dev.isthmus.gateway.extension.Extension}.
 */
public enum ModelAction {
    READY("ready", false),
    INFER("infer", true),
    INFER_STREAM("infer_stream", true),
    GENERATE("generate", true),
    GENERATE_STREAM("generate_stream", true),
    VALIDATE("validate", true),
    OPENAPI("openapi.json", false);

    /** The path of a model, whose metadata it is. */
    public static final String MODEL = "/v2/models/{model}";

    private static final Map<String, ModelAction> BY_SEGMENT =
            Arrays.stream(values()).collect(Collectors.toUnmodifiableMap(ModelAction::segment, Function.identity()));

    private final String segment;
    private final String suffix;
    private final boolean post;

    ModelAction(String segment, boolean post) {
        this.segment = segment;
        this.suffix = "/" + segment;
        this.post = post;
    }

    /** The action of a path's last segment; null for any other segment. */
    public static @Nullable ModelAction of(String segment) {
        return BY_SEGMENT.get(segment);
    }

    /** The last segment of the path. */
    public String segment() {
        return segment;
    }

    /** What follows the path of the model. */
    public String suffix() {
        return suffix;
    }

    /** The path, with {@code {model}} in place of the name. */
    public String path() {
        return MODEL + suffix;
    }

    /** Whether it is requested with POST; otherwise with GET. */
    public boolean post() {
        return post;
    }
}
