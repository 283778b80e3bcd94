package dev.isthmus.gateway.upstream.rest;

/** Whether a REST upstream is taken to know the binary tensor data extension. */
public enum BinaryTensorData {
    /** As the server's metadata says; not, until they have been read. */
    AUTO,
    TRUE,
    FALSE
}
