package dev.isthmus.gateway.catalogue;

/**
 * One difference between a server's description of a model and the merged description of its replicas.
 *
 * @param subject the input or output, such as {@code input 'x'}; empty if it concerns the model
 * @param merged the merged value; empty if absent
 * @param said the server's value; empty if absent
 */
public record Drift(ServerId source, DriftKind kind, String subject, String merged, String said) {

    public Drift {
        subject = MetadataLimits.reason(subject);
        merged = MetadataLimits.reason(merged);
        said = MetadataLimits.reason(said);
    }

    /** The difference in one line, with its server. */
    String text() {
        return "server " + source.label() + " of upstream '" + source.upstream() + "': "
                + switch (kind) {
                    case PLATFORM -> differs("platform");
                    case VERSIONS -> differs("versions");
                    case DATATYPE -> differs(subject + " has datatype");
                    case SHAPE -> differs(subject + " has shape");
                    case INPUT_MISSING, OUTPUT_MISSING -> subject + " is missing; other replicas have it";
                    case INPUT_EXTRA, OUTPUT_EXTRA -> subject + " is not on other replicas";
                };
    }

    private String differs(String what) {
        return what + " " + said + "; other replicas: " + merged;
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
