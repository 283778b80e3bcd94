package dev.isthmus.gateway.fleet.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.fleet.kubernetes.ApiServer.TimedBody;
import java.io.IOException;
import java.net.http.HttpTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class TimedBodyTest {
    private final AtomicLong requested = new AtomicLong();
    private final AtomicInteger cancelled = new AtomicInteger();

    private TimedBody body(Duration idle) {
        TimedBody body = new TimedBody(idle);
        body.onSubscribe(new Flow.Subscription() {
            @Override
            public void request(long count) {
                requested.addAndGet(count);
            }

            @Override
            public void cancel() {
                cancelled.incrementAndGet();
            }
        });
        return body;
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void parts_areOneStream() throws Exception {
        TimedBody body = body(Duration.ofMinutes(1));
        body.onNext(List.of(bytes("ab"), bytes(""), bytes("c")));
        body.onNext(List.of(bytes("d")));
        body.onComplete();
        assertThat(new String(body.readAllBytes(), StandardCharsets.UTF_8)).isEqualTo("abcd");
        assertThat(body.read()).isEqualTo(-1);
        assertThat(requested).hasValue(3);
    }

    @Test
    void silence_endsTheRead() {
        assertThatThrownBy(body(Duration.ofMillis(1))::read)
                .isInstanceOf(HttpTimeoutException.class)
                .hasMessage("the API server has sent nothing for 0 s");
    }

    @Test
    void failure_endsTheRead() {
        TimedBody body = body(Duration.ofMinutes(1));
        body.onError(new IOException("reset"));
        assertThatThrownBy(body::read)
                .isInstanceOf(IOException.class)
                .hasMessage("the connection to the API server has ended")
                .hasRootCauseMessage("reset");
    }

    @Test
    void close_cancels() throws Exception {
        TimedBody body = body(Duration.ofMinutes(1));
        body.onNext(List.of(bytes("ab")));
        body.close();
        assertThat(cancelled).hasValue(1);
        assertThat(body.read()).isEqualTo(-1);
    }
}
