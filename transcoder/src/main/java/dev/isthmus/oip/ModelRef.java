package dev.isthmus.oip;

/**
 * Names a model and, when {@code version} is not empty, one of its versions. The version is opaque here: what it may look
 * like is the server's business.
 */
public record ModelRef(String name, String version) {

    /** The model by name alone: the server chooses the version. */
    public static ModelRef of(String name) {
        return new ModelRef(name, "");
    }

    @Override
    public String toString() {
        return version.isEmpty() ? "'" + name + "'" : "'" + name + "' version '" + version + "'";
    }
}
