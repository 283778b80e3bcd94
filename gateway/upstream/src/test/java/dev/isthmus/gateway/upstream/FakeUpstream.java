package dev.isthmus.gateway.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An upstream that records its requests, so that a test responds when it wants. Bodies are released at once. */
public final class FakeUpstream implements Upstream {
    public final List<ReceivedRequest> requests = new ArrayList<>();

    /** Its features. */
    public ServerFeatures features = new ServerFeatures(Wire.PROTOBUF, Dialect.GENERIC, false, false);

    /** Whether requests in parts fail before they are open. */
    public boolean refusing;

    /** Whether inferences throw an unexpected exception. */
    public boolean broken;

    /** As {@link #passesFrom()}. */
    public long passesFrom = Long.MAX_VALUE;

    /** Runs before the method that starts a request returns. */
    public Consumer<ReceivedRequest> beforeReturn = received -> {};

    /** How often it was closed. */
    public int closed;

    /** One request, and how it ended. */
    public static final class ReceivedRequest implements UpstreamStream, RequestSink {
        public final Call call;

        /** Null unless it is an inference. */
        public final @Nullable ModelRef model;

        public final Reply reply;
        /** Whether a model's metadata are asked for. */
        public boolean metadata;

        /** Whether it is ready for parts. */
        public boolean open;

        /** Whether there is no memory to send the requests of a stream. */
        public boolean exhausted;

        public boolean cancelled;
        public boolean ended;
        public int sent;

        ReceivedRequest(Call call, @Nullable ModelRef model, Reply reply) {
            this.call = call;
            this.model = model;
            this.reply = reply;
        }

        public void respond() {
            message();
            reply.complete();
        }

        public void message() {
            reply.message(new ReplyMessage.Inference(new InferMessage.ProtobufMessage(Unpooled.EMPTY_BUFFER)));
        }

        /** Sends a part of a response. */
        public void part() {
            reply.message(new ReplyMessage.Part(Unpooled.EMPTY_BUFFER, 1));
        }

        public void fail(ErrorCode code, Processed processed) {
            reply.fail(new OipException(code, code.name(), null, processed));
        }

        @Override
        public void cancel() {
            cancelled = true;
        }

        @Override
        public void send(Call request, UpstreamRequest.InferenceRequest message, boolean emptyFinal) {
            message.release();
            if (exhausted) {
                throw new OutOfMemoryError("of memory outside the heap");
            }
            sent++;
        }

        @Override
        public void end() {
            ended = true;
        }

        /** Becomes ready for parts. */
        public void open() {
            open = true;
            reply.onReady();
        }

        @Override
        public void data(ByteBuf part) {
            assertThat(open).isTrue();
            sent += part.readableBytes();
            part.release();
        }

        @Override
        public boolean isReady() {
            return open;
        }

        @Override
        public void onReady() {}
    }

    public ReceivedRequest last() {
        return requests.getLast();
    }

    /** The only request it received. */
    public ReceivedRequest only() {
        assertThat(requests).hasSize(1);
        return requests.getFirst();
    }

    private void checkBroken() {
        if (broken) {
            throw new IllegalStateException("broken");
        }
    }

    private ReceivedRequest keep(ReceivedRequest received) {
        requests.add(received);
        beforeReturn.accept(received);
        return received;
    }

    @Override
    public String name() {
        return "fake";
    }

    @Override
    public ServerFeatures peer() {
        return features;
    }

    @Override
    public long passesFrom() {
        return passesFrom;
    }

    @Override
    public Subscription send(Call call, UpstreamRequest request, Reply reply) {
        request.release();
        if (request instanceof UpstreamRequest.InferenceRequest) {
            checkBroken();
        }
        ReceivedRequest received = new ReceivedRequest(
                call, request instanceof UpstreamRequest.InferenceRequest infer ? infer.model() : null, reply);
        if (request instanceof UpstreamRequest.InferenceInParts parts) {
            parts.open(received);
        }
        received.metadata = request instanceof UpstreamRequest.ModelMetadataRequest;
        keep(received);
        if (refusing && request instanceof UpstreamRequest.InferenceInParts) {
            received.fail(ErrorCode.UNAVAILABLE, Processed.NO);
        }
        return received;
    }

    @Override
    public UpstreamStream inferStream(Call call, ModelRef model, Reply reply) {
        checkBroken();
        return keep(new ReceivedRequest(call, null, reply));
    }

    @Override
    public void close() {
        closed++;
    }
}
