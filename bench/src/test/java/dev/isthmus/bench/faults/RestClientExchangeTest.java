package dev.isthmus.bench.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpClientCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RestClientExchangeTest {
    private static final int LIMIT_MILLIS = 100;

    private final List<Channel> idle = new ArrayList<>();
    private final List<Outcome> outcomes = new ArrayList<>();
    private final RestClientExchange exchange = new RestClientExchange((channel, sent) -> idle.add(channel));
    private final EmbeddedChannel channel = new EmbeddedChannel(new HttpClientCodec(), exchange);

    @BeforeEach
    void freeze() {
        channel.freezeTime();
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    @Test
    void answer_withTheId_isGood() {
        ask(4);
        receive("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{\"id\":\"4\"}");
        assertThat(outcomes).containsExactly(Outcome.OK);
        assertThat(idle).containsExactly(channel);
    }

    @Test
    void answer_withAnotherId_isTruncated() {
        ask(4);
        receive("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{\"id\":\"5\"}");
        assertThat(outcomes).containsExactly(Outcome.TRUNCATED);
    }

    @Test
    void errorAnswer_isAStatus() {
        ask(4);
        receive("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 2\r\n\r\n{}");
        assertThat(outcomes).containsExactly(Outcome.status("503"));
        assertThat(idle).containsExactly(channel);
    }

    @Test
    void answer_thatEndsEarly_isTruncated() {
        ask(4);
        receive("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{\"id\"");
        channel.close();
        assertThat(outcomes).containsExactly(Outcome.TRUNCATED);
    }

    @Test
    void connection_thatEndsBeforeTheAnswer_isAReset() {
        ask(4);
        channel.close();
        assertThat(outcomes).containsExactly(Outcome.RESET);
    }

    @Test
    void answer_withConnectionClose_isNotUsedAgain() {
        ask(4);
        receive("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 10\r\n\r\n{\"id\":\"4\"}");
        assertThat(outcomes).containsExactly(Outcome.OK);
        assertThat(idle).isEmpty();
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void silence_isATimeoutOnce() {
        ask(4);
        channel.advanceTimeBy(LIMIT_MILLIS, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
        channel.runPendingTasks();
        assertThat(outcomes).containsExactly(Outcome.TIMEOUT);
        assertThat(channel.isOpen()).isFalse();
    }

    private void ask(int id) {
        PendingRequest pending = new PendingRequest(channel.eventLoop(), LIMIT_MILLIS, outcomes::add, channel::close);
        exchange.expect(new Request(id, Request.MODEL), pending);
        channel.writeOutbound(RestClient.message(new Request(id, Request.MODEL)));
        channel.releaseOutbound();
    }

    private void receive(String text) {
        channel.writeInbound(Unpooled.copiedBuffer(text, StandardCharsets.UTF_8));
    }
}
