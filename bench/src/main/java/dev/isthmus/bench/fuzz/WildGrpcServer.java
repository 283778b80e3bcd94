package dev.isthmus.bench.fuzz;

import dev.isthmus.bench.RawMethods;
import dev.isthmus.bench.http2.FrameBytes;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.proto.ModelMetadataResponse;
import dev.isthmus.proto.ModelStreamInferResponse;
import dev.isthmus.proto.RepositoryIndexResponse;
import dev.isthmus.proto.ServerMetadataResponse;
import dev.isthmus.proto.ServerReadyResponse;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A V2 server over gRPC, written frame by frame, that ignores the gateway's flow-control windows. */
final class WildGrpcServer extends WildServer {
    private static final int MAX_BYTES = 4 << 20;

    WildGrpcServer(long seed) throws IOException {
        super(seed);
    }

    /** An open call. */
    private static final class Asked {
        private final String path;
        private final ByteArrayOutputStream body = new ByteArrayOutputStream();
        private boolean headed;

        Asked(String path) {
            this.path = path;
        }
    }

    @Override
    void serve(Socket socket, BufferedInputStream in, OutputStream out) throws IOException, InterruptedException {
        new Connection(socket, in, out).run();
    }

    private final class Connection {
        private final Socket socket;
        private final BufferedInputStream in;
        private final OutputStream out;
        private final DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder(false);
        private final Map<Integer, Asked> open = new HashMap<>();
        private final ByteArrayOutputStream block = new ByteArrayOutputStream();
        private boolean ends;

        Connection(Socket socket, BufferedInputStream in, OutputStream out) {
            this.socket = socket;
            this.in = in;
            this.out = out;
        }

        void run() throws IOException, InterruptedException {
            in.skipNBytes(24);
            SeededChoices choices = choices("connection", 0, false);
            out.write(
                    choices.chance(0.9)
                            ? FrameBytes.frame(FrameBytes.SETTINGS, 0, 0, new byte[0])
                            : new Http2Frames(choices).settings());
            for (byte[] head = in.readNBytes(9); head.length == 9; head = in.readNBytes(9)) {
                int length = (head[0] & 0xff) << 16 | (head[1] & 0xff) << 8 | head[2] & 0xff;
                int stream = (head[5] & 0x7f) << 24 | (head[6] & 0xff) << 16 | (head[7] & 0xff) << 8 | head[8] & 0xff;
                if (!frame(head[3], head[4], stream, in.readNBytes(length))) {
                    return;
                }
            }
        }

        /**
         * Handles a frame; returns whether the connection stays open. The gateway sends neither padding nor priorities.
         */
        private boolean frame(int type, int flags, int stream, byte[] payload)
                throws IOException, InterruptedException {
            switch (type) {
                case FrameBytes.HEADERS, FrameBytes.CONTINUATION -> {
                    block.writeBytes(payload);
                    ends = type == FrameBytes.HEADERS ? (flags & FrameBytes.END_STREAM) != 0 : ends;
                    if ((flags & FrameBytes.END_HEADERS) != 0) {
                        open.put(stream, new Asked(path(stream)));
                        block.reset();
                        return !ends || answer(stream, true);
                    }
                }
                case FrameBytes.DATA -> {
                    Asked asked = open.get(stream);
                    if (asked == null) {
                        return true;
                    }
                    if (asked.body.size() < MAX_BYTES) {
                        asked.body.writeBytes(payload);
                    }
                    if (payload.length > 0) {
                        out.write(FrameBytes.frame(FrameBytes.WINDOW_UPDATE, 0, 0, FrameBytes.number(payload.length)));
                        out.write(FrameBytes.frame(
                                FrameBytes.WINDOW_UPDATE, 0, stream, FrameBytes.number(payload.length)));
                    }
                    boolean end = (flags & FrameBytes.END_STREAM) != 0;
                    return !(end || asked.path.endsWith("StreamInfer")) || answer(stream, end);
                }
                case FrameBytes.SETTINGS -> {
                    if ((flags & FrameBytes.ACK) == 0) {
                        out.write(FrameBytes.frame(FrameBytes.SETTINGS, FrameBytes.ACK, 0, new byte[0]));
                    }
                }
                case FrameBytes.PING -> {
                    if ((flags & FrameBytes.ACK) == 0) {
                        out.write(FrameBytes.frame(FrameBytes.PING, FrameBytes.ACK, 0, payload));
                    }
                }
                case FrameBytes.RST_STREAM -> open.remove(stream);
                default -> {}
            }
            return true;
        }

        private String path(int stream) throws IOException {
            ByteBuf bytes = Unpooled.wrappedBuffer(block.toByteArray());
            try {
                CharSequence path = decoder.decodeHeaders(stream, bytes).path();
                return path == null ? "/" : path.toString();
            } catch (Http2Exception e) {
                throw new IOException(e);
            }
        }

        private boolean answer(int stream, boolean end) throws IOException, InterruptedException {
            Asked asked = open.get(stream);
            if (asked == null) {
                return true;
            }
            boolean inference = asked.path.endsWith("Infer");
            SeededChoices choices = choices(asked.path, java.util.Arrays.hashCode(asked.body.toByteArray()), inference);
            boolean right = choices.chance(inference ? 0.4 : 0.93);
            byte[] message = message(asked.path, choices, !end && asked.path.endsWith("StreamInfer") || asked.headed);
            byte[] body = right
                    ? FrameBytes.message(false, message.length, message)
                    : new GrpcMessages(choices).framed(new GrpcMessages(choices).spoiled(message));
            if (right && end) {
                open.remove(stream);
                if (!asked.headed) {
                    out.write(FrameBytes.frame(FrameBytes.HEADERS, FrameBytes.END_HEADERS, stream, head("200")));
                }
                out.write(FrameBytes.frame(FrameBytes.DATA, 0, stream, body));
                out.write(FrameBytes.frame(
                        FrameBytes.HEADERS, FrameBytes.END_HEADERS | FrameBytes.END_STREAM, stream, trailers("0")));
                return true;
            }
            if (right) {
                if (!asked.headed) {
                    out.write(FrameBytes.frame(FrameBytes.HEADERS, FrameBytes.END_HEADERS, stream, head("200")));
                    asked.headed = true;
                }
                out.write(FrameBytes.frame(FrameBytes.DATA, 0, stream, body));
                return true;
            }
            open.remove(stream);
            return wrong(stream, choices, body);
        }

        private boolean wrong(int stream, SeededChoices choices, byte[] body) throws IOException, InterruptedException {
            Http2Frames frames = new Http2Frames(choices);
            switch (choices.below(10)) {
                case 0 -> {
                    int count = choices.size(3_000);
                    for (int i = 0; i < count; i++) {
                        out.write(FrameBytes.frame(
                                FrameBytes.HEADERS, FrameBytes.END_HEADERS, stream, head(choices.pick("100", "103"))));
                    }
                }
                case 1 ->
                    out.write(FrameBytes.frame(FrameBytes.RST_STREAM, 0, stream, FrameBytes.number(choices.below(15))));
                case 2 -> {
                    byte[] last = new byte[8];
                    last[3] = choices.pick((byte) 0, (byte) stream, (byte) -1);
                    last[7] = (byte) choices.below(15);
                    out.write(FrameBytes.frame(FrameBytes.GOAWAY, 0, 0, last));
                }
                case 3 -> out.write(frames.any(stream + 2));
                case 4 -> Thread.sleep(choices.size(4_000));
                case 5 -> {
                    return true; // no response
                }
                default -> {}
            }
            byte[] trailers = trailers(choices.pick("0", "0", "3", "8", "13", "14", "99", "x", ""));
            byte[] head = choices.chance(0.9) ? head("200") : odd(choices);
            List<byte[]> response = frames.answer(stream, head, body, trailers);
            for (byte[] part : response) {
                out.write(choices.chance(0.97) ? part : choices.spoil(part));
                if (choices.chance(0.01)) {
                    Thread.sleep(choices.below(50));
                }
            }
            if (choices.chance(0.1)) {
                socket.setSoLinger(true, 0);
                return false;
            }
            return choices.chance(0.9);
        }
    }

    private static byte[] head(String status) {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        FrameBytes.field(block, false, ":status", status);
        FrameBytes.field(block, false, "content-type", "application/grpc");
        return block.toByteArray();
    }

    private static byte[] odd(SeededChoices choices) {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        FrameBytes.field(block, false, ":status", choices.pick("200", "204", "500", "", "99999", "abc"));
        FrameBytes.field(block, false, "content-type", choices.pick("application/grpc", "text/html", ""));
        int count = choices.size(800);
        for (int i = 0; i < count; i++) {
            FrameBytes.field(
                    block,
                    choices.chance(0.5),
                    choices.pick("x-request-id", "retry-after", "ce-" + i, "grpc-encoding"),
                    "v".repeat(choices.size(300)));
        }
        return block.toByteArray();
    }

    private static byte[] trailers(String status) {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        FrameBytes.field(block, false, "grpc-status", status);
        FrameBytes.field(block, false, "grpc-message", "%E4%B8%96 wild %zz");
        return block.toByteArray();
    }

    private static byte[] message(String path, SeededChoices choices, boolean stream) {
        return switch (path.substring(path.lastIndexOf('/') + 1)) {
            case "ServerLive", "ServerReady", "ModelReady" ->
                ServerReadyResponse.newBuilder().setReady(true).build().toByteArray();
            case "ServerMetadata" ->
                ServerMetadataResponse.newBuilder()
                        .setName("stub")
                        .setVersion("1")
                        .addExtensions("model_repository")
                        .build()
                        .toByteArray();
            case "ModelMetadata" ->
                ModelMetadataResponse.newBuilder()
                        .setName("m")
                        .addVersions("1")
                        .addInputs(ModelMetadataResponse.TensorMetadata.newBuilder()
                                .setName("x")
                                .setDatatype("FP32")
                                .addShape(-1))
                        .build()
                        .toByteArray();
            case "RepositoryIndex" ->
                RepositoryIndexResponse.newBuilder()
                        .addModels(RepositoryIndexResponse.ModelIndex.newBuilder()
                                .setName("wild")
                                .setVersion("1")
                                .setState("READY"))
                        .build()
                        .toByteArray();
            case "ModelInfer" -> inferred(choices).toByteArray();
            case "ModelStreamInfer" -> {
                ModelInferResponse inferred = inferred(choices);
                yield stream || choices.chance(0.7)
                        ? ModelStreamInferResponse.newBuilder()
                                .setInferResponse(inferred)
                                .build()
                                .toByteArray()
                        : inferred.toByteArray();
            }
            default -> new byte[0];
        };
    }

    private static ModelInferResponse inferred(SeededChoices choices) {
        int elements = choices.size(choices.chance(0.1) ? 200_000 : 1_000);
        return RawMethods.response("m", "", new byte[elements * 4], (long) elements);
    }
}
