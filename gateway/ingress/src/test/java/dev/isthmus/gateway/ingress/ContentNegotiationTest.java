package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.coding.Compressed;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.NonFinite;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Content-Type, Content-Encoding and their Accept headers. */
class ContentNegotiationTest {
    private static final String INFER = "/v2/models/m/infer";
    private static final String LARGE = "x".repeat(2000);

    private final Calls calls = new Calls();
    private Ingress ingress;

    @BeforeEach
    void start() throws Exception {
        ingress = new Ingress(Transport.NIO, calls, 5000);
    }

    @AfterEach
    void stop() {
        ingress.close();
    }

    /** Fields of one name, whose values are separated by plus signs. */
    private static String[] fields(String name, String values) {
        List<String> fields = new ArrayList<>();
        for (String value : values.split("\\+", -1)) {
            fields.addAll(List.of(name, value.strip()));
        }
        return fields.toArray(String[]::new);
    }

    private Ingress.Response post(HttpClients http, byte[] body, String[] headers) throws Exception {
        return http.ask(ingress, "POST", INFER, body, headers);
    }

    @ParameterizedTest
    @EnumSource
    void codings_inOneFieldOrSeveral_areOneList(HttpClients http) throws Exception {
        byte[] once = Compressed.GZIP.of("hello");
        for (String codings : new String[] {
            "gzip", "gzip, identity", "gzip+identity", "identity+gzip", "identity, X-GZIP", "gzip+", ", gzip ,"
        }) {
            Ingress.Response response = post(http, once, fields("Content-Encoding", codings));
            assertThat(response.body()).as(codings).isEqualTo("hello");
        }
        for (String codings : new String[] {"identity", "identity, identity", "identity+identity", ""}) {
            assertThat(post(http, "plain".getBytes(StandardCharsets.UTF_8), fields("Content-Encoding", codings))
                            .body())
                    .as(codings)
                    .isEqualTo("plain");
        }
        byte[] twice = Compressed.GZIP.of(once);
        for (String codings : new String[] {"gzip, gzip", "gzip+gzip", "gzip+deflate", "gzip, br", "identity+br"}) {
            Ingress.Response response = post(http, twice, fields("Content-Encoding", codings));
            assertThat(response.status()).as(codings).isEqualTo(415);
            assertThat(response.headers()).containsEntry("accept-encoding", "gzip, deflate");
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            gzip                              | gzip
            X-Gzip                            | gzip
            deflate                           | deflate
            deflate, gzip                     | gzip
            gzip;q=0.5, deflate;q=0.6         | deflate
            gzip; q=0.5 , deflate ; Q=0.501   | deflate
            br, zstd, deflate;q=0.1           | deflate
            *                                 | gzip
            gzip;q=0, *                       | deflate
            identity;q=0.5, gzip              | gzip
            identity, gzip                    | gzip
            br+deflate                        | deflate
            gzip;q=0.2+deflate;q=0.3          | deflate
            gzip;q=0                          |
            gzip;q=0.000                      |
            *;q=0                             |
            identity                          |
            identity, gzip;q=0.9              |
            *;q=0.5, gzip;q=0.4, deflate;q=0  |
            gzip;q=2                          |
            gzip;q=high                       |
            br                                |
            """)
    void response_isCompressed_asTheClientWantsItMost(String accepted, String coding) throws Exception {
        for (HttpClients http : HttpClients.values()) {
            Ingress.Response response =
                    post(http, LARGE.getBytes(StandardCharsets.UTF_8), fields("Accept-Encoding", accepted));
            assertThat(response.headers().get("content-encoding"))
                    .as(http.name())
                    .isEqualTo(coding);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            text/event-stream                                   | true
            Text/Event-Stream; charset=utf-8                    | true
            text/event-stream, application/json                 | true
            application/json+text/event-stream                  | true
            text/event-stream, */*                              | true
            text/event-stream;q=0.5, */*;q=0.1                  | true
            text/*                                              | true
            application/json;q=0.1, text/*;q=0.2                | true
            application/json, text/event-stream;q=0             | false
            application/json, text/event-stream;q=0.9           | false
            application/octet-stream, text/event-stream;q=0.9   | false
            text/event-stream;q=0                               | false
            text/event-stream;q=0, text/*                       | false
            text/event-stream;q=0, */*                          | false
            text/event-stream;q=no                              | false
            */*                                                 | false
            text/html, */*;q=0.8                                | false
            application/json;x="text/event-stream, y"           | false
            text/event-streams                                  | false
            """)
    void inference_getsEvents_whereTheyAreWantedMost(String accept, boolean events) {
        assertThat(ContentNegotiation.events(Arrays.asList(accept.split("\\+", -1))))
                .isEqualTo(events);
    }

    @ParameterizedTest
    @EnumSource
    void events_areRefused_byWeight(HttpClients http) throws Exception {
        Ingress.Response response = post(
                http,
                "hello".getBytes(StandardCharsets.UTF_8),
                fields("Accept", "application/json, text/event-stream;q=0"));
        assertThat(response.headers()).containsEntry("content-type", "application/json");
        assertThat(response.body()).isEqualTo("hello");
    }

    @Test
    void nonFinite_isAParameterOfWhatIsAccepted() {
        assertThat(ContentNegotiation.nonFinite(List.of("application/json; NonFinite=NULL;q=0.5")))
                .isEqualTo(NonFinite.NULL);
        assertThat(ContentNegotiation.nonFinite(List.of("text/html", "application/json;q=1;nonfinite=string")))
                .isEqualTo(NonFinite.STRING);
        assertThat(ContentNegotiation.nonFinite(List.of("application/json;nonfinite=null;q=0")))
                .isNull();
        assertThatThrownBy(() -> ContentNegotiation.nonFinite(List.of("*/*;nonfinite=maybe")))
                .isInstanceOf(OipException.class)
                .hasMessageContaining("got 'maybe'");
    }

    /** As Triton does: its asyncio client always accepts gzip, but decodes it only in responses to inferences. */
    @ParameterizedTest
    @EnumSource
    void responsesOtherThanInferences_areNeverCompressed(HttpClients http) throws Exception {
        byte[] large = LARGE.getBytes(StandardCharsets.UTF_8);
        for (String path : new String[] {"/v2/repository/index", "/v2/logging", "/v2/models/m/generate"}) {
            Ingress.Response response = http.ask(ingress, "POST", path, large, "Accept-Encoding", "gzip");
            assertThat(response.body()).as(path).isEqualTo(LARGE);
            assertThat(response.headers()).as(path).doesNotContainKeys("content-encoding", "vary");
        }
        assertThat(http.ask(ingress, "POST", INFER, large, "Accept-Encoding", "gzip")
                        .headers())
                .containsEntry("content-encoding", "gzip")
                .containsEntry("vary", "accept-encoding");
    }
}
