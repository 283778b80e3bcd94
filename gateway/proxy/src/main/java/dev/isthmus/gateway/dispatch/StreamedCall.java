package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One request of a stream, answered within it: neither its end nor its failure ends the stream. It has an exchange of its
 * own, which passes the layers.
 */
final class StreamedCall extends ForwardingReply {
    private final StreamCallFlow flow;
    private final ProtobufReader.Outline outline;
    private final Exchange exchange;
    /** Over which it was sent. */
    private UpstreamStream sentOver = UpstreamStream.ENDED;

    private @Nullable Future<?> timer;
    private boolean responded;

    /**
     * A request that was received.
     *
     * @param stream the client's stream
     */
    StreamedCall(StreamCallFlow flow, Exchange stream, Call call, ProtobufReader.Outline outline) {
        super(stream);
        this.flow = flow;
        this.outline = outline;
        this.exchange = stream.ofMessage(call, own -> new Message(), this);
    }

    /** Empty if it has none. */
    String id() {
        return outline.id();
    }

    ProtobufReader.Outline outline() {
        return outline;
    }

    Exchange exchange() {
        return exchange;
    }

    /** Passes the layers, and is then sent. */
    void begin(ByteBuf message) {
        exchange.open();
        exchange.request().data(message);
        exchange.request().end();
    }

    /** @param message taken */
    void send(Call call, UpstreamStream stream, InferenceRequest message) {
        sentOver = stream;
        stream.send(call, message, outline.emptyFinal());
    }

    /** Runs a task after this time, unless it has a response or has ended by then. */
    void expireAfter(long nanos, Runnable expired) {
        if (!responded) {
            timer = exchange.call().loop().schedule(expired, nanos, TimeUnit.NANOSECONDS);
        }
    }

    private void responded() {
        responded = true;
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }

    @Override
    public void message(ReplyMessage message) {
        responded();
        super.message(message);
    }

    @Override
    public void complete() {
        responded();
        sentOver.ended(exchange.context().upstreamNanos(), null);
    }

    @Override
    public void fail(OipException failure) {
        responded();
        sentOver.ended(exchange.context().upstreamNanos(), failure);
        if (!flow.callEnded()) {
            super.message(new ReplyMessage.StreamError(failure, id()));
            flow.decided(this);
        }
    }

    /** The request behind the layers. */
    private final class Message implements RequestSink {
        private @Nullable ByteBuf message;

        @Override
        public void data(ByteBuf whole) {
            message = whole;
        }

        @Override
        public void end() {
            ByteBuf whole = message;
            message = null;
            if (whole != null) {
                flow.send(StreamedCall.this, whole);
            }
            if (!exchange.isWaiting()) {
                flow.decided(StreamedCall.this);
            }
        }

        @Override
        public void cancel() {
            responded();
            if (message != null) {
                message.release();
                message = null;
            }
        }
    }
}
