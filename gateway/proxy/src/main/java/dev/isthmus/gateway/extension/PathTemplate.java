package dev.isthmus.gateway.extension;

import dev.isthmus.oip.ModelRef;
import java.util.List;

/**
 * A path of the REST protocol with names in it: {@code {model}}, {@code {version}}, and one resource of any other name,
 * such as {@code {region}}.
 *
 * @param segments those between the slashes, the first empty; names stand in braces
 * @param model the index of the model's name; -1 for none, as of the other two
 * @param version the index of the model's version
 * @param resource the index of the resource's name
 */
public record PathTemplate(List<String> segments, int model, int version, int resource) {
    private static final String MODEL = "{model}";
    private static final String VERSION = "{version}";

    /** How a name is written as one segment of a path, or refused. */
    @FunctionalInterface
    public interface SegmentEncoder {
        /**
         * Encodes a name.
         *
         * @param what it names, for the message of a refusal
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

    /** Whether these segments of a path, as split and not decoded, are those of this template but for the names. */
    public boolean matches(String[] path) {
        if (path.length != segments.size()) {
            return false;
        }
        for (int i = 0; i < path.length; i++) {
            if (!isName(i) && !segments.get(i).equals(path[i])) {
                return false;
            }
        }
        return true;
    }

    /** What the resource is called in messages: {@code region name}. */
    public String resourceKind() {
        String segment = segments.get(resource);
        return segment.substring(1, segment.length() - 1) + " name";
    }

    private boolean isName(int index) {
        return index == model || index == version || index == resource;
    }

    /** Whether every name of it is given. */
    boolean covers(ModelRef asked, String resourceName) {
        return (model < 0 || !asked.name().isEmpty())
                && (version < 0 || !asked.version().isEmpty())
                && (resource < 0 || !resourceName.isEmpty());
    }

    /** The path of these names. */
    String path(ModelRef asked, String resourceName, SegmentEncoder encoder) {
        StringBuilder path = new StringBuilder();
        for (int i = 1; i < segments.size(); i++) {
            path.append('/');
            if (i == model) {
                path.append(encoder.encode("model name", asked.name()));
            } else if (i == version) {
                path.append(encoder.encode("model version", asked.version()));
            } else if (i == resource) {
                path.append(encoder.encode(resourceKind(), resourceName));
            } else {
                path.append(segments.get(i));
            }
        }
        return path.toString();
    }
}
