package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.ingress.Http2Head.Http2HeadCache;
import dev.isthmus.gateway.settings.HeaderAllowList;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Heads of HTTP/2 requests: what is parsed, and that it is parsed once. */
class Http2HeadCacheTest {
    private final Http2HeadCache heads = new Http2HeadCache(new ClientConnection("", null, null, false));

    private static Http2Headers grpc(String... more) {
        Http2Headers headers = new DefaultHttp2Headers()
                .method("POST")
                .path("/inference.GRPCInferenceService/ModelInfer")
                .add("content-type", "application/grpc");
        for (int i = 0; i < more.length; i += 2) {
            headers.add(more[i], more[i + 1]);
        }
        return headers;
    }

    @Test
    void sameHeaders_areReadOnce() {
        Http2Headers headers = grpc("x-request-id", "1");
        HeaderAllowList allowed = HeaderAllowList.of(List.of("x-request-id"));
        Http2Head first = heads.of(headers);
        assertThat(heads.of(headers)).isSameAs(first);
        assertThat(first.call()).isSameAs(first.call());
        assertThat(first.forwarded(allowed)).isSameAs(first.forwarded(HeaderAllowList.of(List.of("x-request-id"))));
    }

    @Test
    void equalHeadersOfAnotherBlock_areReadAnew() {
        assertThat(heads.of(grpc())).isNotSameAs(heads.of(grpc()));
    }

    @Test
    void fewHeads_areKept() {
        Http2Headers headers = grpc();
        Http2Head first = heads.of(headers);
        for (int i = 0; i < 3; i++) {
            heads.of(grpc());
        }
        assertThat(heads.of(headers)).isSameAs(first);
        heads.of(grpc());
        assertThat(heads.of(headers)).isNotSameAs(first);
    }

    @Test
    void forwarded_otherNamesAllowed_isReadAnew() {
        Http2Head head = heads.of(grpc("x-a", "1", "x-b", "2", "x-b", "3", "te", "trailers"));
        assertThat(head.forwarded(HeaderAllowList.of(List.of("x-a"))))
                .isEqualTo(Map.of("x-a", "1", "isthmus-hops", "1"));
        assertThat(head.forwarded(HeaderAllowList.of(List.of("x-*"))))
                .isEqualTo(Map.of("x-a", "1", "x-b", "2,3", "isthmus-hops", "1"));
        assertThat(head.forwarded(HeaderAllowList.of(List.of("*")))).doesNotContainKeys(":path", "te", "content-type");
    }

    @Test
    void cookie_inParts_isOneAgain() {
        Http2Head head = heads.of(grpc("cookie", "a=1", "cookie", "b=2", "cookie", "c=3"));
        assertThat(head.forwarded(HeaderAllowList.of(List.of("cookie")))).containsEntry("cookie", "a=1; b=2; c=3");
        assertThat(head.value("cookie")).isEqualTo("a=1; b=2; c=3");
    }

    @Test
    void timeout_countsFromEachRequest() {
        Http2Head head = heads.of(grpc("grpc-timeout", "1H"));
        long first = head.call().deadline();
        long next = head.call().deadline();
        assertThat(next - first).isNotNegative();
        assertThat(heads.of(grpc()).call().deadline()).isEqualTo(Call.NO_DEADLINE);
    }

    @Test
    void refusal_isGivenEachTime() {
        Http2Head head = heads.of(grpc("grpc-encoding", "brotli"));
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(head::call).hasMessageContaining("grpc-encoding");
        }
    }
}
