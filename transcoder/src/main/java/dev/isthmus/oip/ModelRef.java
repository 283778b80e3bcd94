package dev.isthmus.oip;

/**
 * Names a model and, if {@code version} is not empty, one of its versions. Versions are opaque strings; their format is
 * up to the server.
 */
public record ModelRef(String name, String version) {

    /** The model without a version; the server chooses one. */
    public static ModelRef of(String name) {
        return new ModelRef(name, "");
    }

    @Override
    public String toString() {
        return version.isEmpty() ? "'" + name + "'" : "'" + name + "' version '" + version + "'";
    }
}
