package dev.isthmus.local.translate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.local.LocalBackend;
import dev.isthmus.local.TestSettings;
import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Translators from real jars with the real digits model. */
class TranslationTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    private static final List<TensorMetadata> TEXT = List.of(metadata("text", "BYTES", -1));
    private static final List<TensorMetadata> ANSWER = List.of(metadata("answer", "BYTES", 1));
    private static final List<String> IMAGE = List.of("image");

    @TempDir
    private static Path folder;

    private static TestJars jars;
    private static Path jar;
    private static LocalBackend models;

    @BeforeAll
    static void start() throws Exception {
        jars = new TestJars(Files.createDirectory(folder.resolve("classes")));
        jar = jars.jar(folder.resolve("translator.jar"), Map.of());
        Files.writeString(folder.resolve("greeting.txt"), "hello ");
        models = LocalBackend.start(TestSettings.of(null, true, 2, 64)).awaitStart();
    }

    @AfterAll
    static void stop() {
        models.close();
    }

    private static TensorMetadata metadata(String name, String type, long... shape) {
        return new TensorMetadata(name, type, Shape.of(shape), Map.of());
    }

    private static Translation load(
            @Nullable String translator, Path from, List<TensorMetadata> inputs, List<TensorMetadata> outputs) {
        return Translation.load(
                new TranslatorSource(new ModelRef("digits", "1"), translator, List.of(from), inputs, outputs, IMAGE));
    }

    private static Translation moody() {
        return load("Moody", jar, TEXT, ANSWER);
    }

    /** The digits model. */
    private static List<Tensor> digits(InferRequest request) {
        CompletableFuture<InferResponse> outcome = new CompletableFuture<>();
        InferRequest taken = request.retained();
        models.infer(taken, Long.MAX_VALUE, ALLOCATOR, new InferCallback() {
            @Override
            public void done(InferResponse response) {
                outcome.complete(response);
            }

            @Override
            public void failed(OipException failure) {
                outcome.completeExceptionally(failure);
            }
        });
        try {
            return outcome.join().outputs();
        } catch (CompletionException e) {
            throw (OipException) e.getCause();
        }
    }

    private static Tensor text(String... elements) {
        ByteBuf data = ALLOCATOR.buffer();
        for (String element : elements) {
            byte[] bytes = element.getBytes(StandardCharsets.UTF_8);
            data.writeIntLE(bytes.length).writeBytes(bytes);
        }
        return new Tensor("text", DataType.BYTES, Shape.of(elements.length), Map.of(), data);
    }

    private static InferRequest request(Tensor input, String... outputs) {
        List<RequestedOutput> wanted = Stream.of(outputs)
                .map(name -> new RequestedOutput(name, Map.of()))
                .toList();
        return new InferRequest(
                ModelRef.of("digits"), "id", Map.of("tier", new Parameter.Text("gold")), List.of(input), wanted);
    }

    private static List<Tensor> run(Translation translation, InferRequest request) {
        try {
            return translation.run(request, TranslationTest::digits, ALLOCATOR);
        } finally {
            request.release();
        }
    }

    private static String answer(Translation translation, String text) {
        List<Tensor> outputs = run(translation, request(text(text)));
        try {
            return strings(outputs.getFirst()).getFirst();
        } finally {
            outputs.forEach(Tensor::release);
        }
    }

    private static List<String> strings(Tensor tensor) {
        List<String> strings = new ArrayList<>();
        ByteBuf data = tensor.data();
        for (int at = data.readerIndex(); at < data.writerIndex(); at += 4 + data.getIntLE(at)) {
            strings.add(data.toString(at + 4, data.getIntLE(at), StandardCharsets.UTF_8));
        }
        return strings;
    }

    private static OipException failure(String mood) {
        try (Translation moody = moody()) {
            return failure(moody, request(text(mood)));
        }
    }

    private static OipException failure(Translation translation, InferRequest request) {
        try {
            run(translation, request).forEach(Tensor::release);
        } catch (OipException e) {
            return e;
        }
        throw new AssertionError("it did not fail");
    }

    @Test
    void example_readsDigitsFromText() {
        String two = "0,0,11,16,15,3,0,0,0,5,16,12,11,13,0,0,0,3,13,1,5,15,0,0,0,0,0,0,12,11,0,0,"
                + "0,0,0,1,16,7,0,0,0,0,0,10,15,0,0,0,0,0,12,16,16,11,1,0,0,0,13,13,8,13,16,8";
        List<TensorMetadata> declared = List.of(metadata("digit", "BYTES", -1), metadata("confidence", "FP32", -1));
        try (Translation example = load("DigitsText", jar, TEXT, declared)) {
            List<Tensor> outputs = run(example, request(text(two, two)));
            assertThat(strings(outputs.get(0))).containsExactly("two", "two");
            assertThat(outputs.get(1).shape()).isEqualTo(Shape.of(2));
            assertThat(outputs.get(1).data().getFloatLE(0)).isGreaterThan(0.9f);
            outputs.forEach(Tensor::release);
            List<Tensor> asked = run(example, request(text(two), "confidence"));
            assertThat(asked).extracting(Tensor::name).containsExactly("confidence");
            asked.forEach(Tensor::release);
            assertThat(failure(example, request(text("1,2"))))
                    .hasMessage("model 'digits': text 0: 64 numbers are expected, got 2")
                    .extracting(OipException::code)
                    .isEqualTo(ErrorCode.INVALID_ARGUMENT);
        }
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void datatype_passesByteForByte(DataType type) {
        byte[] raw = new byte[6 * type.size()];
        new SplittableRandom(7).nextBytes(raw);
        Tensor input = new Tensor("x", type, Shape.of(2, 3), Map.of(), ALLOCATOR.buffer());
        input.data().writeBytes(type == DataType.BYTES ? odd() : raw);
        byte[] expected = ByteBufUtil.getBytes(input.data());
        List<TensorMetadata> declared = List.of(metadata("x", type.name(), -1, 3));
        InferRequest request = request(input);
        try (Translation echo = load("Echo", jar, declared, declared)) {
            for (int i = 0; i < 2; i++) {
                List<Tensor> outputs =
                        echo.run(request, inner -> inner.retained().inputs(), ALLOCATOR);
                assertThat(outputs.getFirst().dataType()).isEqualTo(type);
                assertThat(outputs.getFirst().shape()).isEqualTo(Shape.of(2, 3));
                assertThat(ByteBufUtil.getBytes(outputs.getFirst().data())).isEqualTo(expected);
                outputs.forEach(Tensor::release);
            }
        }
        request.release();
    }

    /** Six elements: an emoji, text with a NUL, an empty one, one that is not text, and two letters. */
    private static byte[] odd() {
        ByteBuf data = ALLOCATOR.buffer();
        List<byte[]> elements = List.of(
                "😀".getBytes(StandardCharsets.UTF_8),
                new byte[] {'a', 0, 'b'},
                new byte[0],
                new byte[] {-1, -2},
                new byte[] {'c'},
                new byte[] {'d'});
        elements.forEach(element -> data.writeIntLE(element.length).writeBytes(element));
        byte[] bytes = ByteBufUtil.getBytes(data);
        data.release();
        return bytes;
    }

    @Test
    void text_withoutName_isTheOutputAtItsPlace() {
        try (Translation moody = moody()) {
            assertThat(answer(moody, "")).isEqualTo("\u00e9 2");
            assertThat(answer(moody, "json")).matches("\\{\"label\":[0-9]}");
        }
    }

    @Test
    void inputs_withoutNames_areTheModelsAtTheirPlace() {
        try (Translation moody = moody()) {
            assertThat(answer(moody, "unnamed")).isEqualTo("\u00e9 2");
        }
    }

    @Test
    void inputs_none_runNothing() {
        try (Translation moody = moody()) {
            assertThat(answer(moody, "nothing")).isEqualTo("\u00e9 0");
        }
    }

    @Test
    void batchifier_makesABatchOfOne_andTakesItAway() {
        try (Translation sample = load("Sample", jar, TEXT, ANSWER)) {
            assertThat(answer(sample, "")).isEqualTo("hello [][10]");
        }
    }

    @ParameterizedTest
    @CsvSource({"refuse,I do not like it", "no number,For input string: \"x\"", "404,no such digit"})
    void request_thatTheTranslatorRefuses_isInvalid_inItsWords(String mood, String words) {
        assertThat(failure(mood))
                .hasMessage("model 'digits': " + words)
                .extracting(OipException::code)
                .isEqualTo(ErrorCode.INVALID_ARGUMENT);
    }

    @Test
    void text_ofSeveralElements_whereOneIsRead_isInvalid() {
        try (Translation moody = moody()) {
            assertThat(failure(moody, request(text("a", "b"))))
                    .hasMessage("model 'digits': tensor 'text' has 2 elements, one is expected")
                    .extracting(OipException::code)
                    .isEqualTo(ErrorCode.INVALID_ARGUMENT);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "fail",
        "overflow",
        "null",
        "two",
        "short",
        "fail later",
        "unknown",
        "number",
        "square",
        "absent",
        "closed",
        "interrupted"
    })
    void translator_thatFails_isOurFault_andGoesOn(String mood) {
        try (Translation moody = moody()) {
            OipException failure = failure(moody, request(text(mood)));
            assertThat(failure).hasMessage("model 'digits': its translator failed");
            assertThat(failure.code()).isEqualTo(ErrorCode.INTERNAL);
            assertThat(Thread.interrupted()).isEqualTo(mood.equals("interrupted"));
            assertThat(answer(moody, "")).isEqualTo("\u00e9 2");
        }
    }

    @Test
    void output_withAServersCode_isInternal_inItsWords() {
        assertThat(failure("503"))
                .hasMessage("model 'digits': not today")
                .extracting(OipException::code)
                .isEqualTo(ErrorCode.INTERNAL);
    }

    @Test
    void model_thatFails_isNotBlamedOnTheTranslator() {
        InferRequest request = request(text(""));
        OipException failure = new OipException(ErrorCode.CANCELLED, "the run was cancelled");
        try (Translation moody = moody()) {
            assertThatThrownBy(() -> moody.run(
                            request,
                            inner -> {
                                throw failure;
                            },
                            ALLOCATOR))
                    .isSameAs(failure);
        }
        request.release();
    }

    @ParameterizedTest
    @CsvSource({"Translator,Moody", "TranslatorFactory,Maker"})
    void service_theOnlyOne_isFound(String service, String provider) {
        Path named = jars.jar(folder.resolve(service + ".jar"), Map.of("ai.djl.translate." + service, provider + "\n"));
        try (Translation found = load(null, named, TEXT, ANSWER)) {
            assertThat(found.name()).isEqualTo("Moody");
            assertThat(answer(found, "")).isEqualTo("\u00e9 2");
        }
    }

    @Test
    void service_noneOrSeveral_isRefused() {
        Path several = jars.jar(folder.resolve("several.jar"), Map.of("ai.djl.translate.Translator", "Moody\nEcho\n"));
        assertThatThrownBy(() -> load(null, jar, TEXT, ANSWER)).hasMessageContaining("name 0 translators");
        assertThatThrownBy(() -> load(null, several, TEXT, ANSWER)).hasMessageContaining("name 2 translators");
    }

    @ParameterizedTest
    @CsvSource({
        "Nowhere,the translator Nowhere is not in the jars beside the model",
        "Broken,the translator cannot be instantiated: IllegalStateException",
        "Idle,the translator cannot be instantiated: UnsupportedOperationException",
        "Words,'Words is not an ai.djl.translate.Translator<ai.djl.modality.Input, ai.djl.modality.Output>'",
        "java.lang.String,'java.lang.String is not an ai.djl.translate.Translator<ai.djl.modality.Input, ai.djl.modality.Output>'"
    })
    void translator_thatCannotBeUsed_isRefused(String name, String reason) {
        assertThatThrownBy(() -> load(name, jar, TEXT, ANSWER))
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.FAILED_PRECONDITION))
                .hasMessage(reason);
    }

    @Test
    void prepare_thatFails_isRefused() throws Exception {
        Path elsewhere = Files.createDirectory(folder.resolve("elsewhere"));
        Path alone = jars.jar(elsewhere.resolve("translator.jar"), Map.of());
        assertThatThrownBy(() -> load("Sample", alone, TEXT, ANSWER))
                .hasMessage("its translator failed in prepare: FileNotFoundException");
    }

    @Test
    void jar_replacedOrDeletedAfterUnload_isNotHeld() throws Exception {
        Path own = jars.jar(folder.resolve("own.jar"), Map.of());
        Translation moody = load("Moody", own, TEXT, ANSWER);
        assertThat(answer(moody, "")).isEqualTo("\u00e9 2");
        moody.close();
        Files.delete(own);
        assertThat(TestJars.openFiles()).noneMatch(file -> file.contains("own.jar"));
    }

    @Test
    void models_haveClassesOfTheirOwn() {
        Translation one = moody();
        try (Translation other = moody()) {
            one.close();
            assertThat(answer(other, "")).isEqualTo("\u00e9 2");
        }
    }

    @Test
    void threads_mayRunOneTranslatorAtOnce() throws Exception {
        try (Translation moody = moody();
                ExecutorService threads = Executors.newFixedThreadPool(4)) {
            List<Future<String>> answers = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                answers.add(threads.submit(() -> answer(moody, "json")));
            }
            String first = answers.getFirst().get();
            for (Future<String> answer : answers) {
                assertThat(answer.get()).isEqualTo(first);
            }
        }
    }
}
