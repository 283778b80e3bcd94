package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * The questions of the catalogue itself, which carry no client's headers and wait five seconds at most. Asked on its loop.
 *
 * @param failed counts failures: the upstream, and what it was asked for
 */
record CatalogueRequests(
        EventLoop loop, ByteBufAllocator allocator, BiConsumer<String, String> failed, IndexRequest index) {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** Takes the outcome of a question: one of the two, once. */
    interface ResultHandler {
        /** Takes the answer with its buffers. */
        void answer(ReplyMessage answer);

        void failed(OipException failure);
    }

    void serverMetadata(Upstream server, ResultHandler heard) {
        server.serverMetadata(call(new Operation.ReadServerMetadata()), once(server, "server_metadata", heard));
    }

    void modelMetadata(Upstream server, ModelRef model, ResultHandler heard) {
        server.modelMetadata(
                call(new Operation.ReadModelMetadata(model)), model, once(server, "model_metadata", heard));
    }

    void repositoryIndex(Upstream server, ResultHandler heard) {
        index.ask(call(new Operation.ServerReady()), server, once(server, "repository_index", heard));
    }

    void modelNames(Upstream server, ResultHandler heard) {
        server.modelNames(call(new Operation.ServerReady()), once(server, "repository_index", heard));
    }

    private Call call(Operation operation) {
        return new Call(operation, System.nanoTime() + PATIENCE_NANOS, Map.of(), loop, allocator);
    }

    private Reply once(Upstream server, String what, ResultHandler heard) {
        return new FirstReply(server.name(), what, failed, heard);
    }

    /** Tells the first answer, or the failure. */
    private static final class FirstReply implements Reply {
        private final String upstream;
        private final String what;
        private final BiConsumer<String, String> counter;
        private final ResultHandler heard;
        private boolean told;

        FirstReply(String upstream, String what, BiConsumer<String, String> counter, ResultHandler heard) {
            this.upstream = upstream;
            this.what = what;
            this.counter = counter;
            this.heard = heard;
        }

        @Override
        public void message(ReplyMessage answer) {
            if (told) {
                answer.release();
            } else {
                told = true;
                heard.answer(answer);
            }
        }

        @Override
        public void complete() {
            fail(new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "upstream '" + upstream + "' sent no answer"));
        }

        @Override
        public void fail(OipException failure) {
            if (!told) {
                told = true;
                // That it has no such model, or nothing of the kind, is an answer.
                if (failure.code() != ErrorCode.NOT_FOUND && failure.code() != ErrorCode.UNIMPLEMENTED) {
                    counter.accept(upstream, what);
                }
                heard.failed(failure);
            }
        }
    }
}
