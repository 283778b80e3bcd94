package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.upstream.InferStream;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import dev.isthmus.transcoder.Dialect;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Peer;
import dev.isthmus.transcoder.Wire;
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
    static final class Asked implements InferStream, RequestSink {
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
            reply.message(new Answer.Inference(new InferMessage.Protobuf(Unpooled.EMPTY_BUFFER)));
        }

        /** A part of an answer that is passed on as it comes. */
        void part() {
            reply.message(new Answer.Part(Unpooled.EMPTY_BUFFER, 1));
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
    public Peer peer() {
        return new Peer(Wire.PROTOBUF, Dialect.GENERIC, false, false);
    }

    @Override
    public Cancellation infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        return keep(call, reply, ((InferMessage.Protobuf) message).message());
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
    public InferStream inferStream(Call call, ModelRef model, Reply reply) {
        return keep(call, reply, null);
    }

    @Override
    public Cancellation generate(Call call, Operation.Generate generate, ByteBuf body, Reply reply) {
        return keep(call, reply, body);
    }

    @Override
    public Cancellation manage(Call call, Operation.Manage manage, ByteBuf body, Reply reply) {
        return keep(call, reply, body);
    }

    @Override
    public Cancellation serverReady(Call call, Reply reply) {
        return keep(call, reply, null);
    }

    @Override
    public Cancellation serverMetadata(Call call, Reply reply) {
        return keep(call, reply, null);
    }

    @Override
    public Cancellation modelReady(Call call, ModelRef model, Reply reply) {
        return keep(call, reply, null);
    }

    @Override
    public Cancellation modelMetadata(Call call, ModelRef model, Reply reply) {
        return keep(call, reply, null);
    }

    @Override
    public void close() {}
}
