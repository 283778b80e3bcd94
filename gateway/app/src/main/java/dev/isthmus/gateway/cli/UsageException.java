package dev.isthmus.gateway.cli;

/** Invalid arguments of a command; the message names them and what is expected. */
final class UsageException extends Exception {
    private static final long serialVersionUID = 1L;

    UsageException(String message) {
        super(message);
    }
}
