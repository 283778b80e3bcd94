package dev.isthmus.bench.fuzz;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;

/** Generates HTTP/1.1 requests with valid and invalid heads, bodies and framing. */
final class Http1Requests {
    /** Names of models in requests. */
    static final List<String> MODELS = List.of(
            "echo",
            "echo",
            "wild",
            "wild",
            "wild-rest",
            "wild-rest",
            "simple",
            "unknown",
            "a%2Fb",
            "a%00",
            "..",
            "echo/versions/1",
            "wild/versions/7",
            "\u4e16");

    private static final List<String> METHODS =
            List.of("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE", "PATCH", "PRI", "get");
    private static final int MOST_BYTES = 3 << 20;

    private final SeededChoices choices;
    private final JsonTexts json;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    Http1Requests(SeededChoices choices) {
        this.choices = choices;
        this.json = new JsonTexts(choices);
    }

    /** All bytes of a connection. */
    byte[] sequence() {
        int requests = choices.chance(0.9) ? choices.between(1, 4) : choices.size(500);
        for (int i = 0; i < requests && out.size() < MOST_BYTES; i++) {
            if (choices.chance(0.03)) {
                write(choices.pick(
                        "\r\n",
                        "\n",
                        "\0",
                        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                        "\u0016\u0003\u0001\u0002",
                        choices.text(300)));
            }
            request();
        }
        byte[] bytes = out.toByteArray();
        return choices.chance(0.85) ? bytes : choices.spoil(bytes);
    }

    private void request() {
        Operation operation = operation(choices);
        byte[] body = operation.hasBody() || choices.chance(0.05) ? body(operation) : new byte[0];
        StringBuilder head = new StringBuilder();
        String method = choices.chance(0.95) ? operation.method() : choices.pick(METHODS);
        head.append(method)
                .append(' ')
                .append(target(operation.path()))
                .append(' ')
                .append(
                        choices.chance(0.96)
                                ? "HTTP/1.1"
                                : choices.pick("HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "HTTP/9.9", "http/1.1", ""))
                .append("\r\n");
        if (choices.chance(0.97)) {
            head.append("Host: ")
                    .append(choices.chance(0.95) ? "a" : choices.text(20))
                    .append("\r\n");
        }
        byte[] coded = coded(body, head);
        fields(head);
        if (binaryHead >= 0) {
            head.append("Inference-Header-Content-Length: ")
                    .append(choices.chance(0.85) ? binaryHead : choices.number())
                    .append("\r\n");
        }
        if (choices.chance(0.05)) {
            head.append("Expect: ")
                    .append(choices.chance(0.8) ? "100-continue" : choices.text(10))
                    .append("\r\n");
        }
        frame(head, coded, operation.hasBody());
    }

    /** Length of the JSON part of a body with binary data, otherwise -1. */
    private int binaryHead = -1;

    private byte[] body(Operation operation) {
        binaryHead = -1;
        if (!operation.infer()) {
            return json.any();
        }
        if (choices.chance(0.6)) {
            return json.infer();
        }
        int count = choices.between(1, 3);
        int bytes = choices.size(choices.chance(0.1) ? 600_000 : 5_000);
        byte[] document = json.binary(count, bytes);
        binaryHead = document.length;
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        whole.writeBytes(document);
        whole.writeBytes(new byte[choices.chance(0.9) ? count * bytes : choices.size(2 * count * bytes + 1)]);
        return whole.toByteArray();
    }

    private byte[] coded(byte[] body, StringBuilder head) {
        if (body.length == 0 || choices.chance(0.85)) {
            return body;
        }
        boolean bomb = choices.chance(0.2);
        byte[] coded = choices.chance(0.5) ? gzip(bomb ? zeros() : body) : deflate(bomb ? zeros() : body);
        String name = coded.length > 1 && coded[0] == 0x1f ? "gzip" : "deflate";
        head.append("Content-Encoding: ")
                .append(choices.chance(0.9) ? name : choices.pick("br", "gzip, gzip", "identity", "", "zstd"))
                .append("\r\n");
        return choices.chance(0.8) ? coded : choices.spoil(coded);
    }

    private byte[] zeros() {
        return new byte[choices.size(32 << 20)];
    }

    static byte[] gzip(byte[] bytes) {
        ByteArrayOutputStream coded = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(coded)) {
            gzip.write(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return coded.toByteArray();
    }

    static byte[] deflate(byte[] bytes) {
        ByteArrayOutputStream coded = new ByteArrayOutputStream();
        try (DeflaterOutputStream deflate = new DeflaterOutputStream(coded)) {
            deflate.write(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return coded.toByteArray();
    }

    private String target(String path) {
        if (choices.chance(0.93)) {
            return path;
        }
        return switch (choices.below(7)) {
            case 0 -> "http://a" + path;
            case 1 -> "http://user@b:99999" + path;
            case 2 -> path + "?" + choices.text(30);
            case 3 -> "/" + choices.text(40);
            case 4 -> path + "a".repeat(choices.size(20_000));
            case 5 -> path.replace("/", choices.pick("//", "/./", "%2f", "\\"));
            default -> "*";
        };
    }

    private void fields(StringBuilder head) {
        if (choices.chance(0.3)) {
            head.append("Accept: ")
                    .append(choices.pick(
                            "text/event-stream",
                            "application/json;nonfinite=null",
                            "*/*;q=0",
                            "application/json;q=" + choices.text(5),
                            ",".repeat(choices.size(2_000))))
                    .append("\r\n");
        }
        if (choices.chance(0.2)) {
            head.append("Accept-Encoding: ")
                    .append(choices.pick("gzip", "deflate;q=1", "gzip;q=0", "br", "*"))
                    .append("\r\n");
        }
        if (choices.chance(0.1)) {
            head.append("X-Request-Timeout-Ms: ")
                    .append(choices.pick("1", "50", "0", "-1", "99999999999", "x"))
                    .append("\r\n");
        }
        if (choices.chance(0.1)) {
            head.append("Connection: ")
                    .append(choices.pick("close", "keep-alive", "upgrade", "close, keep-alive", "host"))
                    .append("\r\n");
        }
        if (choices.chance(0.05)) {
            head.append("Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n");
        }
        if (choices.chance(0.05)) {
            int count = choices.size(300);
            for (int i = 0; i < count; i++) {
                head.append(choices.pick("x-request-id", "traceparent", "baggage", "x-" + i))
                        .append(": ")
                        .append("v".repeat(choices.size(choices.chance(0.1) ? 20_000 : 50)))
                        .append("\r\n");
            }
        }
        if (choices.chance(0.03)) {
            head.append(choices.text(20))
                    .append(choices.pick(": ", " : ", ":", ""))
                    .append(choices.text(20))
                    .append(choices.pick("\r\n", "\n", "\r"));
        }
    }

    private void frame(StringBuilder head, byte[] body, boolean expected) {
        int form = body.length == 0 && !expected ? 3 : choices.chance(0.9) ? choices.below(2) : choices.below(6);
        switch (form) {
            case 1 -> {
                write(head.append("Transfer-Encoding: chunked\r\n\r\n").toString());
                chunks(body);
            }
            case 2 -> { // a wrong length
                write(head.append("Content-Length: ")
                        .append(choices.pick(
                                Long.toString(choices.number()), "+5", "5, 5", "0x5", "", "5\r\nContent-Length: 6"))
                        .append("\r\n\r\n")
                        .toString());
                out.writeBytes(body);
            }
            case 3 -> {
                write(head.append("\r\n").toString());
                out.writeBytes(body);
            }
            case 4 -> {
                write(head.append("Transfer-Encoding: ")
                        .append(choices.pick(
                                "gzip, chunked",
                                "chunked, chunked",
                                "identity",
                                " chunked",
                                "chunked\r\nContent-Length: 3"))
                        .append("\r\n\r\n")
                        .toString());
                chunks(body);
            }
            default -> {
                write(head.append("Content-Length: ")
                        .append(body.length)
                        .append("\r\n\r\n")
                        .toString());
                out.writeBytes(body);
            }
        }
    }

    private void chunks(byte[] body) {
        int most = 1 + choices.size(Math.max(1, body.length));
        if (body.length / most > 5_000) {
            most = body.length / 1_000;
        }
        for (int at = 0; at < body.length; ) {
            int length = Math.min(most, body.length - at);
            write(
                    choices.chance(0.999)
                            ? Integer.toHexString(length)
                            : choices.pick("-1", "", "ffffffffffffffff", "1 ", "g"));
            write(choices.chance(0.99) ? "\r\n" : ";" + choices.text(choices.size(400)) + "\r\n");
            out.write(body, at, length);
            write("\r\n");
            at += length;
        }
        write(
                choices.chance(0.95)
                        ? "0\r\n\r\n"
                        : choices.pick(
                                "0\r\nContent-Length: 5\r\n\r\n",
                                "0\r\nX: " + "y".repeat(choices.size(40_000)) + "\r\n\r\n",
                                "0\r\n",
                                ""));
    }

    private void write(String text) {
        out.writeBytes(text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * A request of V2 over REST.
     *
     * @param hasBody whether it normally has a body
     * @param infer whether the body is an inference
     */
    record Operation(String method, String path, boolean hasBody, boolean infer) {}

    /** A random operation, most often an inference. */
    static Operation operation(SeededChoices choices) {
        String model = "/v2/models/" + choices.pick(MODELS);
        if (choices.chance(0.6)) {
            return new Operation(
                    "POST", model + choices.pick("/infer", "/infer", "/infer", "/infer_stream"), true, true);
        }
        if (choices.chance(0.5)) {
            return new Operation(
                    "GET",
                    choices.pick(
                            "/v2",
                            "/v2/health/live",
                            "/v2/health/ready",
                            "/livez",
                            "/readyz",
                            model,
                            model + "/ready",
                            model + "/config",
                            model + "/stats",
                            model + "/trace/setting",
                            "/v2/models/stats",
                            "/v2/logging",
                            "/v2/trace/setting",
                            "/v2/systemsharedmemory/status",
                            "/metrics",
                            "/"),
                    false,
                    false);
        }
        return new Operation(
                "POST",
                choices.pick(
                        "/v2/repository/index",
                        "/v2/repository/r/index",
                        "/v2/repository/models/simple/load",
                        "/v2/repository/models/wild/load",
                        "/v2/repository/models/wild/unload",
                        model + "/generate",
                        model + "/generate_stream",
                        model + "/trace/setting",
                        "/v2/logging",
                        "/v2/trace/setting",
                        "/v2/systemsharedmemory/region/r/register",
                        "/v2/cudasharedmemory/region/r/register"),
                true,
                false);
    }
}
