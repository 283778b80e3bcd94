package dev.isthmus.gateway.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RedactedTextTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int FIRST_SERVER_ERROR = 500;

    private static String shown(String text) {
        return RedactedText.of(text).text();
    }

    private static void requireWhole(String text) {
        assertThat(RedactedText.of(text)).isEqualTo(new RedactedText(text, false));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "unexpected shape for input 'INPUT0' for model 'simple'. Expected [-1,16], got [1,15]",
                "[request id: <id_unknown>] unexpected shape for input 'x' for model 'm'. Expected [-1,-1], got []. ",
                "[request id: 4f1c] inference input 'INPUT0' data-type is 'INT32', but model 'simple' expects 'FP32'",
                "Request for unknown model: 'simple' version 99 is not found",
                "Request for unknown model: 'a%2Fb' is not found",
                "Request for unknown model: 'mod\u00e8le' is not found",
                "failed to get model version from specified version string '18446744073709551616' (details: stol),"
                        + " version should be an integral value > 0",
                "<class 'mlserver.errors.ModelNotFound'>: Model nope with version  not found",
                "body.inputs.0.datatype: Input should be 'BOOL', 'UINT8' or 'BYTES'",
                "Unrecognized request format: unexpected end of data: line 1 column 2 (char 1)",
                "shared memory region 'input_data' already in manager",
                "[StatusCode.INVALID_ARGUMENT] tensor 'dense/kernel:0' has 1/2 of 3:4 elements and/or none",
                "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Unexpected input data type. Actual: (tensor(float)) ,"
                        + " expected: (tensor(int64))",
                "content type application/vnd.api+json or text/plain.old over HTTP/1.1 is not supported",
                "stop token '</s>' at 12:30:45, std::runtime_error, c10::Error, {'shape': [1:2]}, 1.0.2, 0xff, 'std::c'",
                "invalid literal for int() with base 10: ''",
                "stack trace of the tracer is traced at the end",
            })
    void textAboutTheRequest_isShownWhole(String text) {
        requireWhole(text);
    }

    /** Every text that a server of the recordings gave with a status below 500. */
    @ParameterizedTest
    @ValueSource(strings = {"triton", "mlserver", "kserve"})
    void recordedTextsAboutMistakes_areShownWhole(String server) throws IOException {
        List<String> texts = new ArrayList<>();
        for (String line : Files.readAllLines(golden(server, "rest.jsonl"))) {
            JsonNode response = JSON.readTree(line).path("response");
            String body = response.path("body").path("text").asText();
            if (response.path("status").asInt() < FIRST_SERVER_ERROR && body.startsWith("{\"error\":\"")) {
                texts.add(JSON.readTree(body).path("error").asText());
            }
        }
        for (String line : Files.readAllLines(golden(server, "grpc.jsonl"))) {
            JsonNode response = JSON.readTree(line).path("response");
            if (!response.path("code").asText().equals("INTERNAL")) {
                texts.add(response.path("details").asText());
            }
        }
        texts.removeIf(String::isEmpty);
        assertThat(texts).isNotEmpty().allSatisfy(RedactedTextTest::requireWhole);
    }

    private static Path golden(String server, String file) {
        return Path.of("../../conformance/golden", server, file);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            ignoreLeadingAndTrailingWhitespace = false,
            quoteCharacter = '^',
            value = {
                "no file /srv/models/x.onnx here|no file [path] here",
                "no file '/srv/my models/x.onnx'|no file '[path]'",
                "no file \"/srv/my models\", sorry|no file \"[path]\", sorry",
                "no file /srv/my models/x.onnx|no file [path] [path]",
                "bad (/opt/tritonserver/lib.so:12)|bad ([path])",
                "path=/tmp and:/tmp|path=[path] and:[path]",
                "in ~/models or ../src/core/x.cc:123 or ./y|in [path] or [path] or [path]",
                "in MODELS/fail/1/model.py(20)|in [path](20)",
                "in onnxruntime/core/session.cc:71 Run in models/x.onnx.|in [path] Run in [path]",
                "no file C:\\Program Files\\models\\x y|no file [path] y",
                "no file D:/models/x y|no file [path] y",
                "no file \\\\nas\\share\\x y|no file [path] y",
                "at %2Fsrv%2Fmodels%2Fx end|at [path] end",
                "see http://user:pw@10.0.0.7:8000/v2?x=1 now|see [url] now",
                "bucket s3://models/x unix:///run/x.sock|bucket [url] [url]",
                "see <https://errors.pydantic.dev/2.5/v/missing>|see <[url]>",
                "peer 10.0.0.7 of 10.0.0.0/24|peer [address] of [address]",
                "peer ipv4:127.0.0.1:50051: refused|peer ipv4:[address]: refused",
                "peer 192.168.1.20.|peer [address].",
                "peer [2001:db8::1]:8001 or fe80::1%eth0 or ::1|peer [address] or [address] or [address]",
                "peer 2001:0db8:0:0:0:0:0:1 x|peer [address] x",
                "peer ipv6:%5B::1%5D:8001|peer ipv6:[address]",
                "via triton-0.triton.default.svc:8001 x|via [address] x",
                "via triton-0.triton.svc.cluster.local, redis:6379|via [host], [address]",
                "on localhost:8000, localhost, db-7.internal|on [address], [host], [host]",
                "on ip-10-0-0-1 and ip-10-0-0-1.ec2.internal|on [host] and [host]",
                "mail root@gpu.example.com|mail root@[host]",
                "object at 0x7f3a2c001b50>|object at [address]>",
                "upstream 'secret' returned NOT_FOUND|upstream [name] returned NOT_FOUND",
            })
    void whatTellsOfTheServer_isReplaced(String text, String shown) {
        assertThat(RedactedText.of(text)).isEqualTo(new RedactedText(shown, true));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\n\nAt:\n  /models/fail/1/model.py(20): execute\n",
                "\nTraceback (most recent call last):\n  File \"x.py\", line 1, in f\nValueError: secret",
                ": File \"x.py\", line 1, in f",
                "\n\tat com.example.Secret.run(Secret.java:12)\n\tat java.base/java.lang.Thread.run(Thread.java:1)",
                "\nCaused by: java.lang.Secret",
                "\n   at Secret.Server.Run(String x) in C:\\secret.cs:line 3",
                "\n    at Object.secret (/app/secret.js:1:2)",
                "\ngoroutine 1 [running]:\nmain.secret()",
                "\nstack backtrace:\n   0: secret",
                "\nStack trace: secret",
                "\nthread panicked at src/secret.rs:4",
                "\nException raised from secret at ../c10/x.cpp:1 (most recent call first):\nframe #0: secret",
                "\nframe #0: secret + 0x12",
                "\n#0 0x00007f secret",
            })
    void stackTrace_isCutOff(String trace) {
        assertThat(shown("the shape is wrong" + trace))
                .startsWith("the shape is wrong")
                .doesNotContain("secret", "fail");
        assertThat(shown("the shape is wrong" + trace)).hasSizeLessThan(40);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " \n", "Traceback (most recent call last):\n  x", "\u0000\u001b[31", "...", "[1, 2]"})
    void textThatSaysNothing_isEmpty(String text) {
        assertThat(shown(text)).isEmpty();
    }

    @Test
    void lineBreaks_controlAndFormattingCharacters_areBlanks() {
        assertThat(shown("a\r\nb\u001bc\u202ed\u2028e\ud800f")).isEqualTo("a b c d e f");
        requireWhole("caf\u00e9 \ud83d\ude00");
    }

    @Test
    void longText_isCutAtAWord() {
        String text = "wrong shape ".repeat(500);
        assertThat(shown(text)).hasSizeBetween(900, 1003).endsWith("shape...");
        assertThat(shown("x".repeat(100_000))).isEmpty();
    }

    /** Half of an address is not recognized as one. */
    @Test
    void addressAtTheCut_isNotShown() {
        for (int padding = 1960; padding < 2010; padding++) {
            String text = "/" + "p".repeat(padding - 6) + " peer 10.20.30.40 of gpu.internal";
            assertThat(shown(text)).doesNotContain("10.").doesNotContain("gpu.");
        }
    }

    /** No text takes more than time in proportion to what is read of it. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "a", "a.", "1.", "1:", "::", "/", "a/", "a/b.", "\\", "C:\\", "C:\\a ", "'", "'/", "%2F", "at a.", "ip-"
            })
    void hostileRepetitions_end(String part) {
        assertThat(shown("x " + part.repeat(100_000 / part.length()))).hasSizeLessThan(2000);
        assertThat(shown("x " + part.repeat(1990 / part.length()) + "!")).hasSizeLessThan(2000);
    }

    @Test
    void anyText_isShownInOneLineOfBoundedLength() {
        Random random = new Random(7);
        String alphabet = "a1./:\\'\" %[]()\n\t-~<>x0F\u202e";
        for (int i = 0; i < 2000; i++) {
            StringBuilder text = new StringBuilder();
            int length = random.nextInt(200);
            for (int c = 0; c < length; c++) {
                text.append(alphabet.charAt(random.nextInt(alphabet.length())));
            }
            assertThat(shown(text.toString())).doesNotContain("\n", "\t", "\u202e");
            assertThat(shown(text.insert(random.nextInt(length + 1), " 10.1.2.3 ")
                            .toString()))
                    .doesNotContain("10.1.2.3");
        }
    }

    @Test
    void modelName_isReplacedAsAWord() {
        assertThat(RedactedText.renamed("unknown model: 'net-v2' is not found", "net-v2", "net"))
                .isEqualTo("unknown model: 'net' is not found");
        assertThat(RedactedText.renamed("Model net-v2 with net-v2_x", "net-v2", "n$1"))
                .isEqualTo("Model n$1 with net-v2_x");
        assertThat(RedactedText.renamed("input 'in' of 'i'", "i", "m")).isEqualTo("input 'in' of 'm'");
        assertThat(RedactedText.renamed("same", "same", "same")).isEqualTo("same");
    }
}
