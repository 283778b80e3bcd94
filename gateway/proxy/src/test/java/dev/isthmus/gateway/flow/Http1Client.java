package dev.isthmus.gateway.flow;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** A client's HTTP/1.x connection that reads only on request. */
final class Http1Client implements AutoCloseable {
    private final Socket socket;
    private final InputStream in;

    Http1Client(Socket socket) throws IOException {
        this.socket = socket;
        socket.setSoTimeout(20_000);
        this.in = new BufferedInputStream(socket.getInputStream(), 1024);
    }

    /** The head of a response. */
    record Head(int status, Map<String, String> headers) {}

    /**
     * A response of known length.
     *
     * @param latin its body, one character per byte
     */
    record Response(Head head, String latin) {
        int status() {
            return head.status();
        }

        String text() {
            return new String(latin.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
        }

        String header(String name) {
            return head.headers().getOrDefault(name, "");
        }
    }

    Http1Client send(String text) throws IOException {
        return send(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    Http1Client send(byte[] bytes) throws IOException {
        socket.getOutputStream().write(bytes);
        socket.getOutputStream().flush();
        return this;
    }

    Http1Client get(String path, String... headers) throws IOException {
        return send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + lines(headers) + "\r\n");
    }

    Http1Client post(String path, String body, String... headers) throws IOException {
        return post(path, body.getBytes(StandardCharsets.UTF_8), headers);
    }

    Http1Client post(String path, byte[] body, String... headers) throws IOException {
        send("POST " + path + " HTTP/1.1\r\nHost: a\r\n" + lines(headers) + "Content-Length: " + body.length
                + "\r\n\r\n");
        return send(body);
    }

    private static String lines(String... headers) {
        return headers.length == 0 ? "" : String.join("\r\n", headers) + "\r\n";
    }

    Head head() throws IOException {
        String status = line();
        Map<String, String> headers = new LinkedHashMap<>();
        for (String line = line(); !line.isEmpty(); line = line()) {
            int colon = line.indexOf(':');
            headers.merge(
                    line.substring(0, colon).toLowerCase(Locale.ROOT),
                    line.substring(colon + 1).strip(),
                    (first, next) -> first + "|" + next);
        }
        return new Head(Integer.parseInt(status.split(" ", -1)[1]), headers);
    }

    Response response() throws IOException {
        Head head = head();
        int length = Integer.parseInt(head.headers().getOrDefault("content-length", "0"));
        return new Response(head, new String(in.readNBytes(length), StandardCharsets.ISO_8859_1));
    }

    /** This many bytes of a body, one character per byte. */
    String latin(int length) throws IOException {
        byte[] body = in.readNBytes(length);
        if (body.length < length) {
            throw new EOFException("the body ends after " + body.length + " bytes of " + length);
        }
        return new String(body, StandardCharsets.ISO_8859_1);
    }

    /** Everything up to the last chunk, one character per byte. */
    String latinChunks() throws IOException {
        StringBuilder all = new StringBuilder();
        int length = Integer.parseInt(line(), 16);
        while (length > 0) {
            all.append(latin(length));
            line();
            length = Integer.parseInt(line(), 16);
        }
        line();
        return all.toString();
    }

    /** The next chunk of a chunked body; empty for the last. */
    String chunk() throws IOException {
        int length = Integer.parseInt(line(), 16);
        String chunk = new String(in.readNBytes(length), StandardCharsets.UTF_8);
        line();
        return chunk;
    }

    /** Everything up to the last chunk. */
    String chunks() throws IOException {
        StringBuilder all = new StringBuilder();
        for (String chunk = chunk(); !chunk.isEmpty(); chunk = chunk()) {
            all.append(chunk);
        }
        return all.toString();
    }

    /** Everything up to the end of the connection. */
    String rest() throws IOException {
        return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }

    boolean closedByServer() throws IOException {
        try {
            return in.read() < 0;
        } catch (SocketException reset) {
            return true;
        }
    }

    private String line() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw new IOException("connection closed after '" + line.toString(StandardCharsets.UTF_8) + "'");
            }
            line.write(c);
        }
        return line.toString(StandardCharsets.ISO_8859_1).stripTrailing();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
