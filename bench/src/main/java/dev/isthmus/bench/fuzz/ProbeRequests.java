package dev.isthmus.bench.fuzz;

import com.google.protobuf.ByteString;
import dev.isthmus.bench.RawMethods;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.proto.ServerLiveResponse;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The requests of the health probes. Each waits for its response for a limited time. */
final class ProbeRequests implements AutoCloseable {
    private static final int LIMIT_MILLIS = 20_000;
    private static final int BYTES = 64;
    private static final Set<Status.Code> REFUSED = Set.of(Status.Code.RESOURCE_EXHAUSTED, Status.Code.UNAVAILABLE);

    private final int port;
    private final ManagedChannel channel;
    private @Nullable Kept kept;

    ProbeRequests(int port) {
        this.port = port;
        channel = NettyChannelBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                .usePlaintext()
                .disableRetry()
                .build();
    }

    /** A persistent HTTP/1.1 connection. */
    private static final class Kept implements Closeable {
        private final Socket socket = new Socket();
        private final BufferedInputStream in;
        private final OutputStream out;

        Kept(int port) throws IOException {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), LIMIT_MILLIS);
            socket.setSoTimeout(LIMIT_MILLIS);
            socket.setTcpNoDelay(true);
            in = new BufferedInputStream(socket.getInputStream());
            out = socket.getOutputStream();
        }

        /** Sends a request; returns status and body of the response. */
        String ask(String head, String body) throws IOException {
            out.write((head + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + body.length() + "\r\n\r\n" + body)
                    .getBytes(StandardCharsets.US_ASCII));
            String status = line();
            int length = 0;
            for (String field = line(); !field.isEmpty(); field = line()) {
                if (field.toLowerCase(Locale.ROOT).startsWith("content-length:")) {
                    length = Integer.parseInt(field.substring(15).strip());
                }
            }
            byte[] response = in.readNBytes(length);
            return status.substring(Math.min(9, status.length())) + "\n" + new String(response, StandardCharsets.UTF_8);
        }

        private String line() throws IOException {
            StringBuilder line = new StringBuilder();
            for (int c = in.read(); c != '\n'; c = in.read()) {
                if (c < 0) {
                    throw new IOException("the connection was closed after '" + line + "'");
                }
                line.append(c == '\r' ? "" : (char) c);
            }
            return line.toString();
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    /** {@code GET path} over a new connection. */
    static boolean fresh(int port, String path) throws IOException {
        try (Kept connection = new Kept(port)) {
            return ok(connection.ask("GET " + path, ""));
        }
    }

    private static boolean ok(String response) throws IOException {
        if (!response.startsWith("200 ")) {
            throw new IOException("200 is expected, got " + response);
        }
        return true;
    }

    /** {@code GET /v2/health/live} over a persistent connection. Not thread-safe. */
    boolean kept() throws IOException {
        if (kept == null) {
            kept = new Kept(port);
        }
        return ok(kept.ask("GET /v2/health/live", ""));
    }

    /** The gRPC method ServerLive. */
    boolean grpcLive() throws IOException {
        ServerLiveResponse response = ServerLiveResponse.parseFrom(call("ServerLive", new byte[0]));
        if (!response.getLive()) {
            throw new IOException("ServerLive returned false");
        }
        return true;
    }

    private byte[] call(String method, byte[] message) {
        ClientCall<byte[], byte[]> call = channel.newCall(
                RawMethods.of(method), CallOptions.DEFAULT.withDeadlineAfter(LIMIT_MILLIS, TimeUnit.MILLISECONDS));
        CompletableFuture<byte[]> response = new CompletableFuture<>();
        call.start(
                new ClientCall.Listener<>() {
                    private byte[] received = new byte[0];

                    @Override
                    public void onMessage(byte[] came) {
                        received = came;
                    }

                    @Override
                    public void onClose(Status status, Metadata trailers) {
                        if (status.isOk()) {
                            response.complete(received);
                        } else {
                            response.completeExceptionally(status.asRuntimeException());
                        }
                    }
                },
                new Metadata());
        call.request(2);
        call.sendMessage(message);
        call.halfClose();
        return response.join();
    }

    /** A gRPC inference with random bytes, which the response must repeat. */
    boolean grpcEcho(String model) throws IOException {
        byte[] bytes = new byte[BYTES];
        ThreadLocalRandom.current().nextBytes(bytes);
        byte[] request = RawMethods.request(model, "", "UINT8", bytes, (long) BYTES);
        try {
            List<ByteString> answered =
                    ModelInferResponse.parseFrom(call("ModelInfer", request)).getRawOutputContentsList();
            if (!answered.equals(List.of(ByteString.copyFrom(bytes)))) {
                throw new IOException(model + " answered " + answered + " to " + Arrays.toString(bytes));
            }
            return true;
        } catch (CompletionException e) {
            if (REFUSED.contains(Status.fromThrowable(e).getCode())) {
                return false;
            }
            throw e;
        }
    }

    /** A JSON inference with a random number, which the response must repeat. */
    boolean restEcho() throws IOException {
        int number = ThreadLocalRandom.current().nextInt();
        try (Kept connection = new Kept(port)) {
            String response = connection.ask(
                    "POST /v2/models/echo/infer",
                    "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"INT32\",\"shape\":[1],\"data\":[" + number + "]}]}");
            if (response.startsWith("503 ")) {
                return false;
            }
            if (!response.startsWith("200 ") || !response.contains("\"data\":[" + number + "]")) {
                throw new IOException("echo answered to " + number + ": " + response);
            }
            return true;
        }
    }

    @Override
    public void close() throws IOException {
        channel.shutdownNow();
        if (kept != null) {
            kept.close();
        }
    }
}
