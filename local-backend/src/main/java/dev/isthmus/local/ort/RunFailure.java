package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;

/** Interprets ONNX Runtime's message for a failed run. */
final class RunFailure {
    private static final String STATUS = "Status Message: ";

    private RunFailure() {}

    /** The part that clients may see: no nodes of the model, no source files of ONNX Runtime. */
    static String reason(OrtException e) {
        String message = text(e);
        int status = message.lastIndexOf(STATUS);
        String reason = status < 0 ? message : message.substring(status + STATUS.length());
        boolean source = reason.contains(".cc") || reason.contains(".h:") || reason.contains("/");
        return source || reason.isBlank() ? "the model does not accept the values" : reason.strip();
    }

    /** Whether an output did not match the shape of its preallocated memory. */
    static boolean shape(OrtException e) {
        String text = text(e);
        return text.contains("shape verification failed") || text.contains("pre-allocated output");
    }

    private static String text(OrtException e) {
        String message = e.getMessage();
        return message == null ? "" : message;
    }
}
