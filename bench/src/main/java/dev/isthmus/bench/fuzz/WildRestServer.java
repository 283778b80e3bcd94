package dev.isthmus.bench.fuzz;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;

/** A V2 server over REST. It returns the binary data of a request as binary data. */
final class WildRestServer extends WildServer {
    private static final String BINARY = "inference-header-content-length:";

    private final boolean wild;

    /** @param wild whether some responses are incorrect */
    WildRestServer(long seed, boolean wild) throws IOException {
        super(seed);
        this.wild = wild;
    }

    @Override
    void serve(Socket socket, BufferedInputStream in, OutputStream out) throws IOException, InterruptedException {
        for (String line = line(in); !line.isEmpty(); line = line(in)) {
            long length = 0;
            int json = -1;
            boolean chunked = false;
            for (String field = line(in); !field.isEmpty(); field = line(in)) {
                String lower = field.toLowerCase(Locale.ROOT);
                if (lower.startsWith("content-length:")) {
                    length = Long.parseLong(lower.substring(15).strip());
                } else if (lower.startsWith(BINARY)) {
                    json = Integer.parseInt(lower.substring(BINARY.length()).strip());
                }
                chunked |= lower.startsWith("transfer-encoding:");
            }
            byte[] body = chunked ? chunks(in) : in.readNBytes(Math.toIntExact(length));
            String[] words = line.split(" ", -1);
            if (!answer(words.length > 1 ? words[1] : "/", json, body, socket, out)) {
                return;
            }
        }
    }

    private static String line(BufferedInputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                return "";
            }
            if (c != '\r') {
                line.append((char) c);
            }
        }
        return line.toString();
    }

    private static byte[] chunks(BufferedInputStream in) throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        for (int size = Integer.parseInt(line(in), 16); size > 0; size = Integer.parseInt(line(in), 16)) {
            body.writeBytes(in.readNBytes(size));
            if (!line(in).isEmpty()) {
                throw new EOFException();
            }
        }
        line(in);
        return body.toByteArray();
    }

    /** Responds to a request; returns whether the connection stays open. */
    private boolean answer(String path, int json, byte[] body, Socket socket, OutputStream out)
            throws IOException, InterruptedException {
        boolean inference = path.contains("/infer") || path.contains("/generate");
        SeededChoices choices = choices(path, Arrays.hashCode(body), inference);
        boolean right = !wild || choices.chance(inference ? 0.4 : 0.9);
        StringBuilder head = new StringBuilder();
        byte[] response =
                json >= 0 && (right || choices.chance(0.5)) ? echo(json, body, head) : text(path, choices, right);
        if (right) {
            out.write(whole(200, head, response));
            return true;
        }
        byte[] bytes = wrong(choices, head, response, path.contains("stream"));
        int sent = choices.chance(0.8) ? bytes.length : choices.below(bytes.length + 1);
        if (choices.chance(0.1)) {
            for (int at = 0; at < Math.min(sent, 300); at++) {
                out.write(bytes[at]);
                Thread.sleep(choices.below(3));
            }
        } else {
            out.write(bytes, 0, sent);
        }
        switch (choices.below(8)) {
            case 0 -> socket.setSoLinger(true, 0);
            case 1 -> Thread.sleep(choices.size(4_000));
            case 2, 3, 4 -> {
                return true;
            }
            default -> {}
        }
        return false;
    }

    private static byte[] echo(int json, byte[] body, StringBuilder head) {
        int bytes = Math.max(0, body.length - json);
        byte[] text = ("{\"model_name\":\"\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"UINT8\",\"shape\":[" + bytes
                        + "],\"parameters\":{\"binary_data_size\":" + bytes + "}}]}")
                .getBytes(StandardCharsets.UTF_8);
        byte[] response = Arrays.copyOf(text, text.length + bytes);
        System.arraycopy(body, body.length - bytes, response, text.length, bytes);
        head.append("Content-Type: application/octet-stream\r\nInference-Header-Content-Length: ")
                .append(text.length)
                .append("\r\n");
        return response;
    }

    private byte[] text(String path, SeededChoices choices, boolean right) {
        if (path.contains("/infer") || path.contains("/generate")) {
            return right
                    ? "{\"model_name\":\"\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[1],\"data\":[0.5]}]}"
                            .getBytes(StandardCharsets.UTF_8)
                    : new JsonTexts(choices).inferred();
        }
        if (!right && choices.chance(0.5)) {
            return new JsonTexts(choices).any();
        }
        String text = path.equals("/v2")
                ? "{\"name\":\"stub\",\"version\":\"1\",\"extensions\":[\"binary_tensor_data\",\"model_repository\"]}"
                : path.endsWith("/index")
                        ? "[{\"name\":\"wild-rest\",\"version\":\"1\",\"state\":\"READY\"}]"
                        : path.matches("/v2/models/[^/]*")
                                ? "{\"name\":\"m\",\"versions\":[\"1\"],\"platform\":\"p\",\"inputs\":[{\"name\":\"x\",\"datatype\":"
                                        + "\"UINT8\",\"shape\":[-1]}],\"outputs\":[]}"
                                : "{}";
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return right ? bytes : choices.spoil(bytes);
    }

    private static byte[] whole(int status, StringBuilder head, byte[] body) {
        byte[] first = ("HTTP/1.1 " + status + " X\r\n" + head + "Content-Length: " + body.length + "\r\n\r\n")
                .getBytes(StandardCharsets.UTF_8);
        byte[] all = Arrays.copyOf(first, first.length + body.length);
        System.arraycopy(body, 0, all, first.length, body.length);
        return all;
    }

    private static byte[] wrong(SeededChoices choices, StringBuilder head, byte[] body, boolean stream) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        if (choices.chance(0.1)) {
            int count = choices.size(3_000);
            for (int i = 0; i < count; i++) {
                write(
                        out,
                        choices.chance(0.9)
                                ? "HTTP/1.1 100 Continue\r\n\r\n"
                                : "HTTP/1.1 103 Early\r\nLink: a\r\n\r\n");
            }
        }
        if (stream && choices.chance(0.7)) {
            write(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
            int events = choices.size(60);
            for (int i = 0; i < events; i++) {
                byte[] event = choices.spoil(new JsonTexts(choices).inferred());
                write(out, Integer.toHexString(event.length + 8) + "\r\n" + choices.pick("data: ", "data: ", "event:"));
                out.writeBytes(event);
                write(out, "\n\n\r\n");
            }
            write(out, choices.chance(0.7) ? "0\r\n\r\n" : "");
            return choices.spoil(out.toByteArray());
        }
        if (choices.chance(0.15)) {
            int count = choices.size(2_000);
            for (int i = 0; i < count; i++) {
                head.append(choices.pick("retry-after", "server-timing", "ce-" + i, "x-" + i, "set-cookie"))
                        .append(": ")
                        .append("v".repeat(choices.size(200)))
                        .append("\r\n");
            }
        }
        if (choices.chance(0.1)) {
            head.append("Content-Encoding: gzip\r\n");
        }
        if (choices.chance(0.1)) {
            head.append(choices.text(20)).append(":").append(choices.text(20)).append("\r\n");
        }
        byte[] response = choices.spoil(body);
        if (choices.chance(0.6)) {
            int status =
                    choices.chance(0.7) ? 200 : choices.pick(100, 204, 304, 400, 404, 413, 429, 500, 503, 599, 999);
            out.writeBytes(whole(status, head, response));
            out.writeBytes(choices.chance(0.8) ? new byte[0] : choices.bytes(choices.size(100)));
        } else {
            write(
                    out,
                    choices.pick("HTTP/1.1 200 OK", "HTTP/1.0 200 OK", "HTTP/1.1 20", "HTTP/3 200 OK", choices.text(20))
                            + "\r\n" + head);
            write(
                    out,
                    choices.pick(
                            "Content-Length: " + choices.number(),
                            "Transfer-Encoding: chunked\r\n\r\nffffff",
                            "Transfer-Encoding: chunked\r\n\r\n" + Integer.toHexString(response.length),
                            "Content-Length: 1\r\nContent-Length: 2",
                            "Connection: close"));
            write(out, "\r\n");
            write(out, choices.chance(0.7) ? "\r\n" : "");
            out.writeBytes(response);
        }
        return out.toByteArray();
    }

    private static void write(ByteArrayOutputStream out, String text) {
        out.writeBytes(text.getBytes(StandardCharsets.UTF_8));
    }
}
