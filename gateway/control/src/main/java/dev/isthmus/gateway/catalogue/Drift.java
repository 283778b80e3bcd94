package dev.isthmus.gateway.catalogue;

/**
 * One thing that a server says of a model in another way than the merged metadata of its replicas.
 *
 * @param subject the input or output, such as {@code input 'x'}; empty where it is about the model
 * @param merged what the merged metadata say; empty for nothing
 * @param said what the server says; empty for nothing
 */
public record Drift(ServerId source, DriftKind kind, String subject, String merged, String said) {

    public Drift {
        subject = MetadataLimits.reason(subject);
        merged = MetadataLimits.reason(merged);
        said = MetadataLimits.reason(said);
    }

    /** What differs. */
    public enum DriftKind {
        PLATFORM,
        /** The server lacks versions that others have. */
        VERSIONS,
        INPUT_MISSING,
        INPUT_EXTRA,
        OUTPUT_MISSING,
        OUTPUT_EXTRA,
        DATATYPE,
        SHAPE
    }
}
