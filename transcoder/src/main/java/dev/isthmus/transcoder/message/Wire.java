package dev.isthmus.transcoder.message;

/** A form in which inference messages travel. */
public enum Wire {
    /** JSON, with or without the binary tensor data extension. */
    REST,
    /** A protobuf message of the service {@code inference.GRPCInferenceService}. */
    PROTOBUF,
    /** No wire: decoded, for a backend in this process. */
    DECODED
}
