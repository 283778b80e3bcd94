package dev.isthmus.bench.attack;

import dev.isthmus.bench.http2.FrameBytes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Valid requests, each on a new connection and without retries. They block for at most 10 s. */
public final class Rest {
    private static final int LIMIT_MILLIS = 10_000;

    private Rest() {}

    /**
     * The status of the response to a POST. If {@code json} is above 0, the body is that many bytes of JSON and binary
     * data.
     */
    static String post(int port, String path, byte[] body, int json) throws IOException {
        byte[] head = json > 0
                ? Http1.post(
                        path,
                        "Content-Length: " + body.length,
                        "Inference-Header-Content-Length: " + json,
                        "Connection: close")
                : Http1.post(path, "Content-Length: " + body.length, "Connection: close");
        return status(port, FrameBytes.join(head, body));
    }

    /** The status of the response to an inference request with this many FP32 elements in binary. */
    public static String binary(int port, String model, int elements) throws IOException {
        byte[] json = Messages.binaryHead(elements);
        return post(port, "/v2/models/" + model + "/infer", FrameBytes.join(json, new byte[4 * elements]), json.length);
    }

    /** The status of the response to a GET. */
    public static String get(int port, String path) throws IOException {
        return status(port, Http1.text("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"));
    }

    private static String status(int port, byte[] request) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout(LIMIT_MILLIS);
            socket.getOutputStream().write(request);
            ByteArrayOutputStream response = new ByteArrayOutputStream();
            InputStream in = socket.getInputStream();
            in.transferTo(response);
            String text = response.toString(StandardCharsets.ISO_8859_1);
            return text.length() > 12 ? text.substring(9, 12) : "closed";
        }
    }
}
