package dev.isthmus.gateway.call;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CallLogTest {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final CallContext call = CallContext.internal(channel.eventLoop(), ByteBufAllocator.DEFAULT);

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    @Test
    void refusal_isTheFailureItself_evenOfAStage() {
        OipException refusal = new OipException(ErrorCode.NOT_FOUND, "no such model");
        assertThat(CallLog.failureOf(refusal, call)).isSameAs(refusal);
        assertThat(CallLog.failureOf(new CompletionException(refusal), call)).isSameAs(refusal);
    }

    @Test
    void exhaustedMemory_isOverload() {
        OipException failure = CallLog.failureOf(new OutOfMemoryError("direct"), call);
        assertThat(failure.code()).isEqualTo(ErrorCode.OVERLOADED);
        assertThat(failure.message()).isEqualTo("out of memory for the request");
    }

    @Test
    void fault_isInternal_andSaysNothingOfIt() {
        Exception fault = new IllegalStateException("a fault");
        OipException failure = CallLog.failureOf(new CompletionException(fault), call);
        assertThat(failure.code()).isEqualTo(ErrorCode.INTERNAL);
        assertThat(failure.message()).isEqualTo("internal error");
        assertThat(failure).hasCause(fault);
    }
}
