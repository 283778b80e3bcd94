package dev.isthmus.transcoder.message;

/** An encoding of inference messages. */
public enum Wire {
    /** JSON, with or without the binary tensor data extension. */
    REST,
    /** A protobuf message of the service {@code inference.GRPCInferenceService}. */
    PROTOBUF,
    /** Not encoded: for a backend in this process. */
    DECODED
}
