package dev.isthmus.bench.attack;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** An HTTP/1.1 connection that parses the status of the first response. */
final class Http1 extends NonBlockingConnection {
    private static final int STATUS_END = 12;

    private final StringBuilder line = new StringBuilder();

    Http1(int port) throws IOException {
        super(port);
    }

    Http1(int port, int receiveBuffer) throws IOException {
        super(port, receiveBuffer);
    }

    /** The head of a POST with these headers and a Host. */
    static byte[] post(String path, String... headers) {
        return text("POST " + path + " HTTP/1.1\r\nHost: a\r\n"
                + String.join("", Arrays.stream(headers).map(h -> h + "\r\n").toList()) + "\r\n");
    }

    static byte[] text(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    @Override
    void received(ByteBuffer bytes) {
        while (line.length() < STATUS_END && bytes.hasRemaining()) {
            line.append((char) (bytes.get() & 0xff));
        }
    }

    boolean answered() {
        return line.length() == STATUS_END;
    }

    /** The result: a status, {@code closed}, or {@code open} if no response was received. */
    String end() {
        return answered() ? line.substring(9) : isOpen() ? "open" : "closed";
    }
}
