package dev.isthmus.gateway.extension;

import dev.isthmus.oip.ModelRef;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A REST path with parameters: {@code {model}}, {@code {version}}, and one resource of any other name, such as {@code
 * {region}}.
 *
 * @param segments the parts between the slashes, the first one empty; parameters are in braces
 * @param model the index of the model name; -1 for none, as for the other two
 * @param version the index of the model's version
 * @param resource the index of the resource name
 */
public record PathTemplate(List<String> segments, int model, int version, int resource) {
    private static final String MODEL = "{model}";
    private static final String VERSION = "{version}";

    /** Encodes a name as one path segment, or rejects it. */
    @FunctionalInterface
    public interface SegmentEncoder {
        /**
         * Encodes a name.
         *
         * @param what kind of name it is, for the error message
         */
        String encode(String what, String name);
    }

    static PathTemplate of(String path) {
        List<String> segments = List.of(path.split("/", -1));
        int resource = -1;
        for (int i = 0; i < segments.size(); i++) {
            String segment = segments.get(i);
            if (segment.startsWith("{") && !segment.equals(MODEL) && !segment.equals(VERSION)) {
                resource = i;
            }
        }
        return new PathTemplate(segments, segments.indexOf(MODEL), segments.indexOf(VERSION), resource);
    }

    /** Whether these segments of a path, split and not decoded, match this template. */
    public boolean matches(String[] path) {
        return path.length == segments.size()
                && IntStream.range(0, path.length)
                        .allMatch(i -> i == model
                                || i == version
                                || i == resource
                                || segments.get(i).equals(path[i]));
    }

    /** The resource's kind for error messages: {@code region name}. */
    public String resourceKind() {
        String segment = segments.get(resource);
        return segment.substring(1, segment.length() - 1) + " name";
    }

    /** Whether all its parameters are given. */
    boolean covers(ModelRef requested, String resourceName) {
        return (model < 0 || !requested.name().isEmpty())
                && (version < 0 || !requested.version().isEmpty())
                && (resource < 0 || !resourceName.isEmpty());
    }

    String path(ModelRef requested, String resourceName, SegmentEncoder encoder) {
        StringBuilder path = new StringBuilder();
        for (int i = 1; i < segments.size(); i++) {
            path.append('/');
            if (i == model) {
                path.append(encoder.encode("model name", requested.name()));
            } else if (i == version) {
                path.append(encoder.encode("model version", requested.version()));
            } else if (i == resource) {
                path.append(encoder.encode(resourceKind(), resourceName));
            } else {
                path.append(segments.get(i));
            }
        }
        return path.toString();
    }
}
