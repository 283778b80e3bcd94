package dev.isthmus.gateway.upstream.local;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.local.LocalBackend;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Peer;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** The local backend as an upstream: results come on its worker threads and are handed to the call's loop. */
public final class LocalUpstream implements Upstream {
    /** The upstream's name in the configuration. */
    public static final String NAME = "local";

    private final LocalBackend backend;

    /** @param backend taken: closed with this */
    public LocalUpstream(LocalBackend backend) {
        this.backend = backend;
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Peer peer() {
        return Peer.LOCAL;
    }

    @Override
    public Cancellation infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        InferMessage.Request request = (InferMessage.Request) message;
        Outcome outcome = new Outcome(call.loop(), reply);
        LocalBackend.Cancellable run =
                backend.infer(request.request().withModel(model), call.deadlineNanos(), call.allocator(), outcome);
        return run::cancel;
    }

    @Override
    public Cancellation serverReady(Call call, Reply reply) {
        boolean ready = backend.models().stream().allMatch(name -> backend.ready(ModelRef.of(name)));
        reply.only(new Answer.Ready(ready));
        return Cancellation.NONE;
    }

    @Override
    public Cancellation serverMetadata(Call call, Reply reply) {
        reply.only(new Answer.Server(new ServerMetadata("isthmus-local", "", List.of("binary_tensor_data"))));
        return Cancellation.NONE;
    }

    @Override
    public Cancellation modelReady(Call call, ModelRef model, Reply reply) {
        if (backend.models().contains(model.name())) {
            reply.only(new Answer.ModelReady(model, backend.ready(model)));
        } else {
            reply.fail(unknown(model));
        }
        return Cancellation.NONE;
    }

    @Override
    public Cancellation modelMetadata(Call call, ModelRef model, Reply reply) {
        backend.metadata(model)
                .ifPresentOrElse(metadata -> reply.only(new Answer.Model(metadata)), () -> reply.fail(unknown(model)));
        return Cancellation.NONE;
    }

    @Override
    public void close() {
        backend.close();
    }

    private static OipException unknown(ModelRef model) {
        return new OipException(ErrorCode.NOT_FOUND, "unknown model " + model);
    }

    /** Hands a run's outcome to the call's loop; a loop that is gone takes nothing. */
    private record Outcome(Executor loop, Reply reply) implements LocalBackend.Callback {

        @Override
        public void done(InferResponse response) {
            InferMessage message = new InferMessage.Response(response);
            try {
                loop.execute(() -> reply.only(new Answer.Inference(message)));
            } catch (RejectedExecutionException closed) {
                message.release();
            }
        }

        @Override
        public void failed(OipException failure) {
            try {
                loop.execute(() -> reply.fail(failure));
            } catch (RejectedExecutionException closed) {
                // The client's connection is gone with its loop: there is nobody to tell.
            }
        }
    }
}
