package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;

/** Reads what ONNX Runtime says of a run that failed. */
final class RunFailure {
    private static final String STATUS = "Status Message: ";

    private RunFailure() {}

    /** What a client may see of it: no node of the model, no file of ONNX Runtime's sources. */
    static String reason(OrtException e) {
        String message = text(e);
        int status = message.lastIndexOf(STATUS);
        String reason = status < 0 ? message : message.substring(status + STATUS.length());
        boolean source = reason.contains(".cc") || reason.contains(".h:") || reason.contains("/");
        return source || reason.isBlank() ? "its values are not taken by the model" : reason.strip();
    }

    /** Whether an output did not have the shape of the memory that it was given. */
    static boolean shape(OrtException e) {
        String text = text(e);
        return text.contains("shape verification failed") || text.contains("pre-allocated output");
    }

    private static String text(OrtException e) {
        String message = e.getMessage();
        return message == null ? "" : message;
    }
}
