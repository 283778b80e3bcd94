package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.coding.ExhaustibleAllocator;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.ingress.IngressPipelines.AcceptedConnection;
import dev.isthmus.gateway.ingress.IngressSettings.BodyLimits;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.memory.ReservedBytes;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.testing.FailingAllocator;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What clients get when there is no memory to compress their response. */
class ExhaustedMemoryOfResponsesTest {
    private static final int LARGE = 200_000;

    private final ExhaustibleAllocator allocator = new ExhaustibleAllocator();
    private final List<Reply> replies = new ArrayList<>();
    private final EmbeddedChannel channel = new EmbeddedChannel();

    ExhaustedMemoryOfResponsesTest() {
        IngressSettings settings = new IngressSettings(
                BodyLimits.of(1 << 20),
                100,
                HeaderAllowList.of(List.of()),
                5,
                StreamMessageForm.TRITON,
                IngressSettings.HealthResponses.DEFAULT,
                false,
                0,
                AbusePolicy.NONE,
                ConnectionPolicy.NONE);
        channel.config().setAllocator(allocator);
        new AcceptedConnection(
                        channel,
                        new ListenerContext(
                                (call, reply) -> {
                                    replies.add(reply);
                                    return RequestSink.ENDED;
                                },
                                () -> settings,
                                new OpenConnections(),
                                new MemoryBudget(1 << 30, new SimpleMeterRegistry())),
                        new ConnectionTimer(ConnectionPolicy.NONE, new OpenConnections(), 0),
                        new BodyReadBuffer(BodyReadBuffer.ReadSizes.DEFAULT, new ReservedBytes(0)))
                .http1(channel.pipeline());
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private String sent() {
        StringBuilder text = new StringBuilder();
        for (ByteBuf out = channel.readOutbound(); out != null; out = channel.readOutbound()) {
            text.append(out.toString(StandardCharsets.US_ASCII));
            out.release();
        }
        return text.toString();
    }

    @Test
    void restResponse_isSentAsItIs() {
        channel.writeInbound(Unpooled.copiedBuffer(
                "POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
                StandardCharsets.US_ASCII));
        ByteBuf body = allocator.buffer(LARGE).writeZero(LARGE);
        allocator.exhaust();
        replies.getFirst()
                .only(new ReplyMessage.Inference(new InferMessage.RestMessage(new RestBody(body, RestBody.ALL_JSON))));

        assertThat(sent())
                .startsWith("HTTP/1.1 200 OK\r\n")
                .contains("content-length: " + LARGE + "\r\n")
                .doesNotContain("content-encoding")
                .hasSizeGreaterThan(LARGE);
        assertThat(body.refCnt()).isZero();
    }

    @ParameterizedTest
    @EnumSource
    void grpcMessage_isSentAsItIs_orReleased(ContentCoding coding) {
        FailingAllocator memory = new FailingAllocator();
        boolean failed = true;
        for (int failures = 0; failed; failures++) {
            ByteBuf message = Unpooled.buffer(LARGE).writeZero(LARGE);
            memory.failAfter(failures);
            try {
                ByteBuf framed = GrpcResponses.frame(message, coding, memory);
                failed = memory.failed();
                assertThat(framed.getByte(0)).isEqualTo((byte) (failed ? 0 : 1));
                assertThat(framed.getInt(1)).isEqualTo(framed.readableBytes() - 5);
                framed.release();
            } catch (OutOfMemoryError expected) {
                assertThat(memory.failed()).isTrue();
            }
            assertThat(message.refCnt()).isZero();
            assertThat(memory.held()).isZero();
        }
    }
}
