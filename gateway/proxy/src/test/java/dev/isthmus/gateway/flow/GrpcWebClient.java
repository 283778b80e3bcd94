package dev.isthmus.gateway.flow;

import com.google.protobuf.MessageLite;
import dev.isthmus.gateway.grpc.GrpcWebForm;
import dev.isthmus.gateway.http2.Http2Client;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Sends what a page in a browser would send, over either version of HTTP. */
record GrpcWebClient(int port, HttpVersion version, GrpcWebForm form) {
    static final String SERVICE = "/inference.GRPCInferenceService/";

    enum HttpVersion {
        HTTP_1_1,
        HTTP_2
    }

    /**
     * An HTTP response.
     *
     * @param latin its body, one character per byte
     */
    record WebResponse(int status, Map<String, String> headers, String latin) {
        String header(String name) {
            return headers.getOrDefault(name, "");
        }

        /** The frames of its body, decoded. */
        GrpcWebResponse frames() {
            byte[] body = latin.getBytes(StandardCharsets.ISO_8859_1);
            return GrpcWebResponse.of(
                    this, header("content-type").startsWith("application/grpc-web-text") ? joined(body) : body);
        }

        /** Decodes texts that were encoded one by one. */
        private static byte[] joined(byte[] text) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            for (int i = 0; i < text.length; i += 4) {
                bytes.writeBytes(Base64.getDecoder().decode(new String(text, i, 4, StandardCharsets.US_ASCII)));
            }
            return bytes.toByteArray();
        }
    }

    /**
     * A gRPC-Web response.
     *
     * @param trailers the last frame; the headers of a response without a body
     */
    record GrpcWebResponse(WebResponse http, List<byte[]> messages, Map<String, String> trailers) {
        static GrpcWebResponse of(WebResponse http, byte[] body) {
            ByteBuf in = Unpooled.wrappedBuffer(body);
            List<byte[]> messages = new ArrayList<>();
            Map<String, String> trailers = body.length == 0 ? http.headers() : Map.of();
            while (in.isReadable()) {
                int flag = in.readUnsignedByte();
                ByteBuf frame = in.readSlice(in.readInt());
                if (flag == 0x80) {
                    trailers = fields(frame.toString(StandardCharsets.US_ASCII));
                } else if (flag <= 1 && trailers.isEmpty()) {
                    messages.add(ByteBufUtil.getBytes(frame));
                } else {
                    throw new IllegalStateException("flag " + flag + " after trailers " + trailers);
                }
            }
            return new GrpcWebResponse(http, messages, trailers);
        }

        private static Map<String, String> fields(String text) {
            Map<String, String> fields = new LinkedHashMap<>();
            for (String line : text.split("\r\n", -1)) {
                if (!line.isEmpty()) {
                    fields.put(line.substring(0, line.indexOf(':')), line.substring(line.indexOf(':') + 2));
                }
            }
            return fields;
        }

        int status() {
            return Integer.parseInt(trailers.getOrDefault("grpc-status", "-1"));
        }

        String text() {
            return trailers.getOrDefault("grpc-message", "");
        }
    }

    /** A frame with this flag and message. */
    static byte[] frame(int flag, byte[] message) {
        return ByteBuffer.allocate(5 + message.length)
                .put((byte) flag)
                .putInt(message.length)
                .put(message)
                .array();
    }

    /** Calls a method with one message. */
    GrpcWebResponse call(String method, MessageLite message, String... headers) throws Exception {
        return send(method, frame(0, message.toByteArray()), headers).frames();
    }

    /** Sends a body in this form, with headers as names and values in turn. */
    WebResponse send(String method, byte[] body, String... headers) throws Exception {
        List<String> all = new ArrayList<>(List.of("content-type", form.contentType(), "x-grpc-web", "1"));
        all.addAll(List.of(headers));
        byte[] sent = form == GrpcWebForm.TEXT ? Base64.getEncoder().encode(body) : body;
        return ask("POST", SERVICE + method, sent, all.toArray(String[]::new));
    }

    /** Sends any request, with headers as names and values in turn. */
    WebResponse ask(String verb, String path, byte[] body, String... headers) throws Exception {
        return version == HttpVersion.HTTP_2
                ? overHttp2(verb, path, body, headers)
                : overHttp1(verb, path, body, headers);
    }

    private WebResponse overHttp2(String verb, String path, byte[] body, String... headers) throws Exception {
        try (Http2Client client = new Http2Client(port)) {
            Http2Client.Response response = client.ask(verb, path, body, headers);
            Http2Headers head = response.head();
            Map<String, String> fields = new LinkedHashMap<>();
            head.forEach(field -> fields.merge(
                    field.getKey().toString(), field.getValue().toString(), (first, next) -> first + "|" + next));
            return new WebResponse(Integer.parseInt(String.valueOf(head.status())), fields, response.latin());
        }
    }

    private WebResponse overHttp1(String verb, String path, byte[] body, String... headers) throws Exception {
        StringBuilder head = new StringBuilder(verb + " " + path + " HTTP/1.1\r\nHost: a\r\n");
        for (int i = 0; i < headers.length; i += 2) {
            head.append(headers[i]).append(": ").append(headers[i + 1]).append("\r\n");
        }
        try (Http1Client client = connect()) {
            client.send(head + "Content-Length: " + body.length + "\r\n\r\n").send(body);
            return read(client);
        }
    }

    Http1Client connect() throws Exception {
        return new Http1Client(new Socket(InetAddress.getLoopbackAddress(), port));
    }

    /** Reads a response of known length or in chunks. */
    static WebResponse read(Http1Client client) throws Exception {
        Http1Client.Head head = client.head();
        boolean chunked = head.headers().containsKey("transfer-encoding");
        String body = chunked
                ? client.latinChunks()
                : client.latin(Integer.parseInt(head.headers().getOrDefault("content-length", "0")));
        return new WebResponse(head.status(), head.headers(), body);
    }
}
