package dev.isthmus.gateway.flow;

import dev.isthmus.gateway.http2.Http2Client;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A REST request with binary data whose body is sent in parts. */
interface BinaryRequest extends AutoCloseable {
    int PIECE = 64 << 10;

    /** A body: JSON followed by binary data. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Body(byte[] bytes, int jsonLength) {
        /** Inputs as in the JSON, followed by this many bytes. */
        static Body of(int behind, String... inputs) {
            byte[] json = ("{\"id\":\"7\",\"inputs\":[" + String.join(",", inputs) + "]}")
                    .getBytes(StandardCharsets.US_ASCII);
            byte[] bytes = Arrays.copyOf(json, json.length + behind);
            for (int i = json.length; i < bytes.length; i += 7) {
                bytes[i] = (byte) (i * 31);
            }
            return new Body(bytes, json.length);
        }

        /** A one-dimensional input of this many bytes of binary data. */
        static String input(String name, String datatype, long extent, long bytes) {
            return "{\"name\":\"" + name + "\",\"datatype\":\"" + datatype + "\",\"shape\":[" + extent
                    + "],\"parameters\":{\"binary_data_size\":" + bytes + "}}";
        }

        static Body of(int bytes) {
            return of(bytes, input("x", "UINT8", bytes, bytes));
        }
    }

    /** The transports. */
    enum Over {
        HTTP1 {
            @Override
            BinaryRequest begin(int port, String model, Body body, String... fields) throws IOException {
                return Http1.begin(port, model, body, fields);
            }
        },
        HTTP2 {
            @Override
            BinaryRequest begin(int port, String model, Body body, String... fields) {
                return Http2.begin(port, model, body, fields);
            }
        };

        /**
         * Opens a connection and sends the headers of a request.
         *
         * @param fields further names and values in turn
         */
        abstract BinaryRequest begin(int port, String model, Body body, String... fields) throws IOException;
    }

    /** Sends a part of the body; returns when the connection has accepted it. */
    void send(int from, int to) throws Exception;

    Body body();

    /** Sends all of the body as fast as it is accepted; returns the number of bytes sent. */
    default AtomicInteger sendAll() {
        AtomicInteger sent = new AtomicInteger();
        Thread.ofVirtual().start(() -> {
            int length = body().bytes().length;
            while (sent.get() < length) {
                int to = Math.min(length, sent.get() + PIECE);
                try {
                    send(sent.get(), to);
                } catch (Exception e) {
                    // The test is over.
                    return;
                }
                sent.set(to);
            }
        });
        return sent;
    }

    int status() throws Exception;

    /** Disconnects the client. */
    @Override
    void close() throws IOException;

    private static String path(String model) {
        return "/v2/models/" + model + "/infer";
    }

    /** Over a keep-alive HTTP/1.1 connection. */
    record Http1(Http1Client connection, Body body) implements BinaryRequest {
        static Http1 begin(int port, String model, Body body, String... fields) throws IOException {
            Socket socket = new Socket();
            // Small, so that little is in transit.
            socket.setSendBufferSize(64 * 1024);
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            Http1 request = new Http1(new Http1Client(socket), body);
            request.head(model, fields);
            return request;
        }

        void head(String model, String... fields) throws IOException {
            StringBuilder head = new StringBuilder("POST " + path(model) + " HTTP/1.1\r\nhost: a\r\ncontent-length: "
                    + body.bytes().length + "\r\ninference-header-content-length: " + body.jsonLength() + "\r\n");
            for (int i = 0; i < fields.length; i += 2) {
                head.append(fields[i]).append(": ").append(fields[i + 1]).append("\r\n");
            }
            connection.send(head + "\r\n");
        }

        @Override
        public void send(int from, int to) throws IOException {
            connection.send(Arrays.copyOfRange(body.bytes(), from, to));
        }

        @Override
        public int status() throws IOException {
            return connection.head().status();
        }

        @Override
        public void close() throws IOException {
            connection.close();
        }
    }

    /** Over an HTTP/2 stream. */
    record Http2(Http2Client connection, Http2Client.Response stream, Body body) implements BinaryRequest {
        static Http2 begin(int port, String model, Body body, String... fields) {
            List<String> all = new ArrayList<>(List.of(
                    "content-length",
                    Integer.toString(body.bytes().length),
                    "inference-header-content-length",
                    Integer.toString(body.jsonLength())));
            all.addAll(List.of(fields));
            Http2Client connection = new Http2Client(port);
            return new Http2(connection, connection.begin(path(model), all.toArray(String[]::new)), body);
        }

        @Override
        public void send(int from, int to) {
            stream.data(body.bytes(), from, to, to == body.bytes().length).syncUninterruptibly();
        }

        @Override
        public int status() throws Exception {
            return Integer.parseInt(stream.head().status().toString());
        }

        @Override
        public void close() {
            connection.close();
        }
    }
}
