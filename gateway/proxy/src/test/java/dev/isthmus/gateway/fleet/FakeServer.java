package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamStream;
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
import org.jspecify.annotations.Nullable;

/** A server that keeps what it is asked, so that a test answers when it wants. Bodies are released at once. */
final class FakeServer implements Upstream {
    final List<Asked> asked = new ArrayList<>();
    /** Whether requests in parts fail before they are open. */
    boolean refusing;

    /** One question, and what came of it. */
    static final class Asked implements UpstreamStream, RequestSink {
        final Call call;
        final Reply reply;
        /** Whether it takes parts. */
        boolean open;

        boolean cancelled;
        boolean ended;
        int sent;

        Asked(Call call, Reply reply) {
            this.call = call;
            this.reply = reply;
        }

        void answer() {
            message();
            reply.complete();
        }

        void message() {
            reply.message(new ReplyMessage.Inference(new InferMessage.ProtobufMessage(Unpooled.EMPTY_BUFFER)));
        }

        /** A part of an answer that is passed on as it comes. */
        void part() {
            reply.message(new ReplyMessage.Part(Unpooled.EMPTY_BUFFER, 1));
        }

        void fail(ErrorCode code, Processed processed) {
            reply.fail(new OipException(code, code.name(), null, processed));
        }

        @Override
        public void cancel() {
            cancelled = true;
        }

        @Override
        public void send(ModelRef model, String id, boolean emptyFinal, InferMessage message) {
            sent++;
            message.release();
        }

        @Override
        public void end() {
            ended = true;
        }

        /** Takes parts from now on. */
        void open() {
            open = true;
            reply.readMore();
        }

        @Override
        public void data(ByteBuf part) {
            assertThat(open).isTrue();
            sent += part.readableBytes();
            part.release();
        }

        @Override
        public boolean writable() {
            return open;
        }

        @Override
        public void resume() {}
    }

    Asked last() {
        return asked.getLast();
    }

    private Asked keep(Call call, Reply reply, @Nullable ByteBuf body) {
        if (body != null) {
            body.release();
        }
        Asked question = new Asked(call, reply);
        asked.add(question);
        return question;
    }

    @Override
    public String name() {
        return "fake";
    }

    @Override
    public ServerFeatures peer() {
        return new ServerFeatures(Wire.PROTOBUF, Dialect.GENERIC, false, false);
    }

    @Override
    public Subscription infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        return keep(call, reply, ((InferMessage.ProtobufMessage) message).message());
    }

    @Override
    public RequestSink inferParts(Call call, ModelRef model, long length, Reply reply) {
        Asked question = keep(call, reply, null);
        if (refusing) {
            question.fail(ErrorCode.UNAVAILABLE, Processed.NO);
        }
        return question;
    }

    @Override
    public UpstreamStream inferStream(Call call, ModelRef model, Reply reply) {
        return keep(call, reply, null);
    }

    @Override
    public Subscription generate(Call call, Operation.Generate generate, ByteBuf body, Reply reply) {
        return keep(call, reply, body);
    }

    @Override
    public Subscription manage(Call call, Operation.Manage manage, ByteBuf body, Reply reply) {
        return keep(call, reply, body);
    }

    @Override
    public Subscription serverReady(Call call, Reply reply) {
        return keep(call, reply, null);
    }

    @Override
    public Subscription serverMetadata(Call call, Reply reply) {
        return keep(call, reply, null);
    }

    @Override
    public Subscription modelReady(Call call, ModelRef model, Reply reply) {
        return keep(call, reply, null);
    }

    @Override
    public Subscription modelMetadata(Call call, ModelRef model, Reply reply) {
        return keep(call, reply, null);
    }

    @Override
    public void close() {}
}
