package dev.isthmus.gateway.flow;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.ingress.CountedIngress;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.ConfigLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** How many bytes of a tensor are copied from socket to socket through the local backend. */
@ParameterizedClass
@EnumSource(Transport.class)
class CopiesTest {
    private static final Path MODEL =
            Path.of("../../local-backend/src/test/resources/models/identity_fp32/1/model.onnx");
    private static final String PATH = "/v2/models/identity_fp32/infer";
    private static final int TENSOR = 1 << 20;
    /** Bytes copied per request: the JSON before the tensors, and headers. */
    private static final long SMALL = 4096;

    @Parameter
    Transport transport = Transport.NIO;

    private ProxyServer gateway;
    private CountedIngress ingress;
    private Http1Client client;

    @BeforeEach
    void start(@TempDir Path directory) throws Exception {
        Path version = Files.createDirectories(directory.resolve("models/identity_fp32/1"));
        Files.copy(MODEL, version.resolve("model.onnx"));
        Path config = Files.writeString(directory.resolve("isthmus.yaml"), """
                listeners: [{host: 127.0.0.1, port: 0}]
                local: {model_repository: models}
                default_upstream: local
                """);
        gateway = ProxyServer.start(ConfigLoader.load(config));
        ingress = new CountedIngress(transport, gateway.listenerContext());
        client = new Http1Client(ingress.connect());
    }

    @AfterEach
    void stop() throws Exception {
        client.close();
        ingress.close();
        gateway.close();
    }

    private static byte[] json(int tensorBytes) {
        return ("{\"inputs\":[{\"name\":\"INPUT0\",\"datatype\":\"FP32\",\"shape\":[" + tensorBytes / 1024
                        + ",256],\"parameters\":{\"binary_data_size\":" + tensorBytes
                        + "}}],\"parameters\":{\"binary_data_output\":true}}")
                .getBytes(ISO_8859_1);
    }

    private static byte[] body(int tensorBytes, long seed) {
        byte[] json = json(tensorBytes);
        byte[] body = new byte[json.length + tensorBytes];
        byte[] tensor = new byte[tensorBytes];
        new Random(seed).nextBytes(tensor);
        System.arraycopy(json, 0, body, 0, json.length);
        System.arraycopy(tensor, 0, body, json.length, tensorBytes);
        return body;
    }

    private static byte[] request(byte[] body, int jsonLength) {
        byte[] head = ("POST " + PATH + " HTTP/1.1\r\nHost: a\r\nInference-Header-Content-Length: " + jsonLength
                        + "\r\nContent-Length: " + body.length + "\r\n\r\n")
                .getBytes(ISO_8859_1);
        byte[] request = new byte[head.length + body.length];
        System.arraycopy(head, 0, request, 0, head.length);
        System.arraycopy(body, 0, request, head.length, body.length);
        return request;
    }

    /** Sends a tensor, checks that the same tensor is returned, and returns the number of bytes copied for it. */
    private Map<String, Long> echoed(int tensorBytes, long seed, boolean headFirst) throws Exception {
        int jsonLength = json(tensorBytes).length;
        byte[] body = body(tensorBytes, seed);
        ingress.copies.take();
        if (headFirst) {
            client.post(PATH, body, "Inference-Header-Content-Length: " + jsonLength);
        } else {
            client.send(request(body, jsonLength));
        }
        Http1Client.Response response = client.response();
        assertThat(response.status()).isEqualTo(200);
        int begin = Integer.parseInt(response.header("inference-header-content-length"));
        assertThat(response.latin().substring(begin).equals(new String(body, ISO_8859_1).substring(jsonLength)))
                .isTrue();
        return ingress.copies.take();
    }

    /** Without the copy that aligns a tensor for ONNX Runtime, of which there is at most one. */
    private static long sum(Map<String, Long> copies) {
        assertThat(copies.getOrDefault("dev.isthmus.local.ort.InputBinding", 0L))
                .isLessThanOrEqualTo(TENSOR);
        return copies.entrySet().stream()
                .filter(each -> !each.getKey().equals("dev.isthmus.local.ort.InputBinding"))
                .mapToLong(Map.Entry::getValue)
                .sum();
    }

    @Test
    void firstTensor_isCopiedAsFarAsItCameWithItsHead() throws Exception {
        Map<String, Long> copies = echoed(TENSOR - 4096, 1, false);
        assertThat(sum(copies)).as("%s", copies).isLessThan(64 * 1024 + SMALL);
    }

    @Test
    void nextTensors_headFirst_areNotCopied() throws Exception {
        echoed(TENSOR, 0, true);
        for (int i = 1; i < 6; i++) {
            Map<String, Long> copies = echoed(TENSOR, i, true);
            assertThat(sum(copies)).as("%s", copies).isLessThan(SMALL);
        }
    }

    @Test
    void nextTensors_withTheirHeads_areNotCopied() throws Exception {
        echoed(TENSOR, 0, false);
        for (int i = 1; i < 6; i++) {
            Map<String, Long> copies = echoed(TENSOR, i, false);
            assertThat(sum(copies)).as("%s", copies).isLessThan(SMALL);
        }
    }
}
