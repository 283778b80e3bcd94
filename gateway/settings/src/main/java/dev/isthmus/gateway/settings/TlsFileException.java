package dev.isthmus.gateway.settings;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A file with a certificate, key or revocation list that cannot be used. */
public final class TlsFileException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient Path file;
    private final String reason;

    /** @param reason what is wrong with the file, without its name: "has no certificate" */
    public TlsFileException(Path file, String reason, @Nullable Throwable cause) {
        super(file + " " + reason, cause);
        this.file = file;
        this.reason = reason;
    }

    public Path file() {
        return file;
    }

    public String reason() {
        return reason;
    }
}
