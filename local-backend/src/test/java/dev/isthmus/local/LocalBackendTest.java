package dev.isthmus.local;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.local.call.Cancellable;
import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequestReader;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Runs the real runtime on the embedded models and on an identity model of each datatype. */
class LocalBackendTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    private static final Path IDENTITIES = Path.of("src/test/resources/models");

    private static LocalBackend backend;

    @BeforeAll
    static void start() {
        backend = LocalBackend.start(TestSettings.of(IDENTITIES, true, 2, 64)).awaitStart();
    }

    @AfterAll
    static void stop() {
        backend.close();
    }

    private static CompletableFuture<InferResponse> infer(LocalBackend on, InferRequest request, long deadline) {
        CompletableFuture<InferResponse> outcome = new CompletableFuture<>();
        on.infer(request, deadline, ALLOCATOR, callback(outcome));
        return outcome;
    }

    private static InferCallback callback(CompletableFuture<InferResponse> outcome) {
        return new InferCallback() {
            @Override
            public void done(InferResponse response) {
                outcome.complete(response);
            }

            @Override
            public void failed(OipException failure) {
                outcome.completeExceptionally(failure);
            }
        };
    }

    private static OipException failure(InferRequest request) {
        try {
            infer(backend, request, Long.MAX_VALUE).join().release();
        } catch (CompletionException e) {
            if (e.getCause() instanceof OipException failure) {
                return failure;
            }
            throw e;
        }
        throw new AssertionError("it did not fail");
    }

    private static Tensor tensor(String name, DataType type, byte[] raw, long... shape) {
        return new Tensor(
                name, type, Shape.of(shape), Map.of(), ALLOCATOR.directBuffer().writeBytes(raw));
    }

    private static InferRequest request(String model, List<Tensor> inputs, String... outputs) {
        List<RequestedOutput> wanted = new ArrayList<>();
        for (String output : outputs) {
            wanted.add(new RequestedOutput(output, Map.of()));
        }
        return new InferRequest(ModelRef.of(model), "id", Map.of(), inputs, wanted);
    }

    private static List<Tensor> vectors() {
        byte[] raw = new byte[64];
        for (int i = 0; i < 16; i++) {
            raw[4 * i] = (byte) i;
        }
        return List.of(tensor("INPUT0", DataType.INT32, raw, 1, 16), tensor("INPUT1", DataType.INT32, raw, 1, 16));
    }

    @Test
    void embeddedModels_areThoseThatWereCommitted() throws Exception {
        for (String line : Files.readAllLines(Path.of("models/SHA256SUMS"))) {
            String[] parts = line.split("  ", 2);
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(Path.of(parts[1])));
            assertThat(HexFormat.of().formatHex(digest)).as(parts[1]).isEqualTo(parts[0]);
        }
    }

    @Test
    void digits_readsTheSample() throws IOException {
        RestRequestReader reader =
                new RestRequestReader(ALLOCATOR, ModelRef.of("digits"), RestBody.ALL_JSON, false, WireLimits.DEFAULT);
        try (InputStream in = LocalBackend.class.getResourceAsStream("/models/digits/sample.json")) {
            reader.feed(Unpooled.wrappedBuffer(in.readAllBytes()));
        }
        InferResponse response =
                infer(backend, reader.finish().request(), Long.MAX_VALUE).join();
        assertThat(response.model()).isEqualTo(new ModelRef("digits", "1"));
        assertThat(response.outputs().get(0).data().getLongLE(0)).isEqualTo(2);
        assertThat(response.outputs().get(1).shape()).isEqualTo(Shape.of(1, 10));
        response.release();
    }

    @Test
    void simple_addsAndSubtracts_inTheOrderAskedFor() {
        InferResponse response = infer(backend, request("simple", vectors(), "OUTPUT1", "OUTPUT0"), Long.MAX_VALUE)
                .join();
        assertThat(response.id()).isEqualTo("id");
        assertThat(response.outputs().stream().map(Tensor::name)).containsExactly("OUTPUT1", "OUTPUT0");
        assertThat(response.outputs().get(0).data().getIntLE(60)).isZero();
        assertThat(response.outputs().get(1).data().getIntLE(60)).isEqualTo(30);
        response.release();
    }

    @Test
    void datatypesThatCannotBeCarriedExactly_areNotReady() {
        assertThat(backend.models()).contains("identity_uint32", "float8");
        assertThat(backend.ready(ModelRef.of("identity_uint32"))).isTrue();
        assertThat(backend.ready(ModelRef.of("float8"))).isFalse();
    }

    @Test
    void noElements_areTaken() {
        InferResponse response = infer(
                        backend,
                        request("identity_fp32", List.of(tensor("INPUT0", DataType.FP32, new byte[0], 0, 3))),
                        Long.MAX_VALUE)
                .join();
        assertThat(response.outputs().get(0).data().readableBytes()).isZero();
        response.release();
    }

    @Test
    void metadata_isTheModels() {
        assertThat(backend.metadata(ModelRef.of("simple"))).hasValueSatisfying(metadata -> {
            assertThat(metadata.versions()).containsExactly("1");
            assertThat(metadata.platform()).isEqualTo("onnxruntime_onnx");
            assertThat(metadata.inputs().get(0).shape()).isEqualTo(Shape.of(-1, 16));
            assertThat(metadata.inputs().get(0).dataType()).isEqualTo("INT32");
        });
        assertThat(backend.metadata(new ModelRef("simple", "2"))).isEmpty();
        assertThat(backend.metadata(ModelRef.of("none"))).isEmpty();
    }

    @Test
    void simple_takesItsInputsInAnyOrder() {
        InferResponse response = infer(backend, request("simple", vectors().reversed()), Long.MAX_VALUE)
                .join();
        assertThat(response.outputs().get(0).shape()).isEqualTo(Shape.of(1, 16));
        assertThat(response.outputs().get(0).data().getIntLE(60)).isEqualTo(30);
        response.release();
    }

    @Test
    void request_thatDoesNotFit_isRefusedByName() {
        List<Tensor> good = vectors();
        assertThat(failure(request("simple", List.of(good.get(0)))).message())
                .isEqualTo("model 'simple': input 'INPUT1' is missing");
        good.get(1).release();
        assertThat(failure(request("simple", List.of(tensor("X", DataType.INT32, new byte[64], 1, 16))))
                        .message())
                .contains("input 'X' is not one of its inputs");
        assertThat(failure(request("simple", List.of(tensor("INPUT0", DataType.INT32, new byte[60], 1, 15))))
                        .message())
                .isEqualTo("model 'simple': input 'INPUT0': shape [-1,16] is expected, got [1,15]");
        assertThat(failure(request("simple", List.of(tensor("INPUT0", DataType.FP32, new byte[64], 1, 16))))
                        .message())
                .isEqualTo("model 'simple': input 'INPUT0': datatype INT32 is expected, got FP32");
        assertThat(failure(request("simple", vectors(), "Y")).message())
                .contains("output 'Y' is not one of its outputs");
        assertThat(failure(request("none", vectors())).code()).isEqualTo(ErrorCode.NOT_FOUND);
        assertThat(failure(request("simple", vectors()).withModel(new ModelRef("simple", "2")))
                        .code())
                .isEqualTo(ErrorCode.NOT_FOUND);
    }

    @Test
    void deadline_passedInTheQueue_isNotRun() {
        CompletableFuture<InferResponse> outcome = infer(backend, request("simple", vectors()), System.nanoTime() - 1);
        assertThat(outcome)
                .failsWithin(10, TimeUnit.SECONDS)
                .withThrowableThat()
                .withCauseInstanceOf(OipException.class)
                .withMessageContaining("deadline");
    }

    @Test
    void queue_full_isRefused_andCancelledRequestsDoNotRun() throws Exception {
        try (LocalBackend small =
                LocalBackend.start(TestSettings.of(null, true, 1, 1)).awaitStart()) {
            CountDownLatch running = new CountDownLatch(1);
            CountDownLatch goOn = new CountDownLatch(1);
            small.infer(request("simple", vectors()), Long.MAX_VALUE, ALLOCATOR, new InferCallback() {
                @Override
                public void done(InferResponse response) {
                    response.release();
                    running.countDown();
                    try {
                        goOn.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                }

                @Override
                public void failed(OipException failure) {
                    running.countDown();
                }
            });
            running.await();
            CompletableFuture<InferResponse> queued = new CompletableFuture<>();
            Cancellable cancellable =
                    small.infer(request("simple", vectors()), Long.MAX_VALUE, ALLOCATOR, callback(queued));
            CompletableFuture<InferResponse> refused = infer(small, request("simple", vectors()), Long.MAX_VALUE);
            assertThat(refused)
                    .failsWithin(10, TimeUnit.SECONDS)
                    .withThrowableThat()
                    .withMessageContaining("its queue of 1 requests is full");
            cancellable.cancel();
            goOn.countDown();
            assertThat(queued)
                    .failsWithin(10, TimeUnit.SECONDS)
                    .withThrowableThat()
                    .withMessageContaining("cancelled");
        }
    }

    @Test
    void repository_linkLeadingOut_isNotFollowed() throws IOException {
        Path root = Files.createTempDirectory("repository");
        Path version = Files.createDirectories(root.resolve("m/1"));
        Files.createSymbolicLink(
                version.resolve("model.onnx"),
                IDENTITIES.resolve("identity_fp32/1/model.onnx").toAbsolutePath());
        try (LocalBackend linked =
                LocalBackend.start(TestSettings.of(root, false, 1, 1)).awaitStart()) {
            assertThat(linked.ready(ModelRef.of("m"))).isFalse();
            assertThat(linked.notServed(ModelRef.of("m")).message())
                    .isEqualTo("model 'm' is not loaded: 'm/1/model.onnx' is a link that leads out of the repository");
        }
    }
}
