package dev.isthmus.gateway.cli;

/** Arguments that a command cannot be given; the message says which, and what is expected. */
final class UsageException extends Exception {
    private static final long serialVersionUID = 1L;

    UsageException(String message) {
        super(message);
    }
}
