package dev.isthmus.gateway.net;

import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpTimeoutException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.util.Locale;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Says why something failed in words, for operators: messages of the JDK's exceptions often are a bare path or null. */
public final class FailureReason {
    /** Before the limit, in the message of {@link java.net.http.HttpResponse.BodyHandlers#limiting}. */
    private static final String TOO_LONG = "body exceeds capacity: ";
    /** Before the text of a cause, as in messages about certificates. */
    private static final Pattern CLASS = Pattern.compile("\\b([a-z]+\\.)+[A-Z]\\w*: ");

    private FailureReason() {}

    /** The reason, without the name of a class. */
    public static String of(Throwable failure) {
        Throwable cause = failure.getCause();
        return switch (failure) {
            case ExecutionException wrapper when cause != null -> of(cause);
            case CompletionException wrapper when cause != null -> of(cause);
            case FileSystemException file -> file(file);
            case CharacterCodingException text -> "it is not UTF-8";
            case UnknownHostException host -> "the host cannot be resolved: " + host.getMessage();
            case UnresolvedAddressException host -> "the host cannot be resolved";
            case HttpConnectTimeoutException late -> "no connection in time";
            case HttpTimeoutException _, TimeoutException _ -> "no response in time";
            case NoRouteToHostException unreachable -> "no route to the host";
            // As the JDK's HttpClient reports a refusal: it connects again, with the channel that the first one closed.
            case ConnectException refused when cause instanceof ClosedChannelException -> "connection refused";
            case ConnectException refused -> said(refused, cause, "connection refused");
            case ClosedChannelException closed -> "the connection was closed";
            default -> said(failure, cause, words(failure));
        };
    }

    private static String file(FileSystemException failure) {
        String file = failure.getFile();
        return switch (failure) {
            case NoSuchFileException none -> file + " does not exist";
            case AccessDeniedException denied -> file + ": permission denied";
            case NotDirectoryException other -> file + " is not a folder";
            case FileAlreadyExistsException there -> file + " exists already";
            default ->
                failure.getReason() == null ? String.valueOf(failure.getMessage()) : file + ": " + failure.getReason();
        };
    }

    /** The message of the failure or of its cause. */
    private static String said(Throwable failure, @Nullable Throwable cause, String otherwise) {
        String message = failure.getMessage();
        if (message == null || message.isBlank()) {
            return cause == null ? otherwise : of(cause);
        }
        if (message.startsWith(TOO_LONG)) {
            return "a response of at most " + message.substring(TOO_LONG.length())
                    + " bytes is expected, got a longer one";
        }
        // A wrapper without a message of its own repeats its cause as text, with its class.
        return cause != null && message.equals(cause.toString())
                ? of(cause)
                : CLASS.matcher(message).replaceAll("");
    }

    /** "read pending" for a ReadPendingException. */
    private static String words(Throwable failure) {
        return failure.getClass()
                .getSimpleName()
                .replaceFirst("(Exception|Error)$", "")
                .replaceAll("(?<=[a-z0-9])(?=[A-Z])", " ")
                .toLowerCase(Locale.ROOT);
    }
}
