package dev.isthmus.gateway.fleet.kubernetes;

import java.io.IOException;

/** An error that the API server reports, as the status of a response or as an event of a watch. */
final class ApiException extends IOException {
    private static final long serialVersionUID = 1L;

    /** The API server does not know the kind of resource. */
    private static final int NOT_FOUND = 404;

    /** The resource version is too old to continue from. */
    static final int GONE = 410;

    private final int status;

    ApiException(int status, String message) {
        super("the API server responds with " + status + (message.isBlank() ? unexplained(status) : ": " + message));
        this.status = status;
    }

    private static String unexplained(int status) {
        return status == NOT_FOUND ? ": it does not know this kind of resource" : "";
    }

    int status() {
        return status;
    }
}
