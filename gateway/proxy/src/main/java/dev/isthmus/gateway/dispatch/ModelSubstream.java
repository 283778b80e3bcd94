package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.dispatch.StreamCallFlow.StreamedCall;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.protobuf.StreamedResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The requests of a client's stream to one model, and their responses. If the server's stream fails, so does each
 * request on it that may have responses to come; the client's stream continues.
 */
final class ModelSubstream implements Reply {
    private final StreamCallFlow flow;
    private final StreamCallFlow.StreamTarget key;
    private final PendingRequests pending = new PendingRequests();
    private UpstreamStream stream = UpstreamStream.ENDED;
    /** What the target calls the model. */
    private String served;

    private boolean ended;

    ModelSubstream(StreamCallFlow flow, StreamCallFlow.StreamTarget key) {
        this.flow = flow;
        this.key = key;
        this.served = key.target().model().name();
    }

    /** The model name to set in responses; null for the server's. */
    private @Nullable String responseModel() {
        return served.equals(key.requested()) ? null : key.requested();
    }

    /** The failure with the model's name as the client knows it. */
    private OipException named(OipException failure) {
        return responseModel() == null || !failure.isServersText()
                ? failure
                : OipException.ofServer(
                        failure.code(), RedactedText.renamed(failure.message(), served, key.requested()));
    }

    /** The stream to the server. */
    UpstreamStream stream() {
        return stream;
    }

    /** Sets the stream that was opened, which may have ended already. */
    void stream(UpstreamStream opened) {
        if (!ended) {
            stream = opened;
        }
    }

    /** A request is sent. */
    void add(StreamedCall request) {
        pending.add(request);
    }

    /** Whether a request has no response yet. */
    boolean isWaiting() {
        return !pending.waiting.isEmpty();
    }

    /** A request was not sent after all. */
    void remove(StreamedCall request) {
        pending.remove(request);
    }

    /** A request has had no response for so long: neither have those behind it. */
    void expired(long nanos) {
        if (!ended) {
            stream.cancel();
            fail(new UpstreamFailures(key.target().upstream().name(), () -> false).timedOut(nanos, null));
        }
    }

    /** Further requests get a stream of their own, and so the chance that the target responds. */
    @Override
    public void redirected(OipException failure, ModelRef model) {
        served = model.name();
        pending.redirected(failure, model);
        flow.redirected(key, this);
    }

    @Override
    public void headers(Map<String, String> headers) {
        if (!flow.callEnded()) {
            flow.client().headers(headers);
        }
    }

    @Override
    public void message(ReplyMessage message) {
        if (flow.callEnded()) {
            message.release();
            return;
        }
        switch (message) {
            case ReplyMessage.Inference inference -> respond(inference);
            case ReplyMessage.StreamError error -> failed(named(error.failure()), error.id());
            default -> flow.client().message(message);
        }
    }

    private void respond(ReplyMessage.Inference inference) {
        InferMessage response = null;
        StreamedResponse place;
        try {
            response = flow.converted(inference, responseModel());
            place = response instanceof InferMessage.ProtobufMessage protobuf
                    ? StreamedResponse.of(protobuf.message())
                    : StreamedResponse.UNKNOWN;
        } catch (OipException | OutOfMemoryError fault) {
            if (response != null) {
                response.release();
            }
            failed(CallLog.failureOf(fault, flow.call().context()), "");
            return;
        }
        StreamedCall request = pending.responding(place.id());
        ReplyMessage reply = new ReplyMessage.Inference(response);
        if (request == null) {
            flow.client().message(reply);
            return;
        }
        request.exchange().message(reply);
        if (place.last()) {
            pending.remove(request);
            request.exchange().complete();
        }
    }

    /** A request has failed by itself. */
    private void failed(OipException failure, String id) {
        StreamedCall request = pending.of(id);
        if (request == null) {
            flow.client().message(new ReplyMessage.StreamError(failure, id));
        } else {
            pending.remove(request);
            request.exchange().fail(failure);
        }
    }

    @Override
    public boolean isReady() {
        return flow.client().isReady();
    }

    @Override
    public void onReady() {
        flow.resumeReading();
    }

    @Override
    public void complete() {
        if (isWaiting()
                && !flow.requestsEnded()
                && !key.target().upstream().peer().dialect().wholeStreams()) {
            fail(new UpstreamFailures(key.target().upstream().name(), () -> false)
                    .badResponse("ended its stream without a response to the request", null));
            return;
        }
        ended = true;
        stream = UpstreamStream.ENDED;
        pending.end();
        flow.ended(key, this);
    }

    @Override
    public void fail(OipException failure) {
        ended = true;
        stream = UpstreamStream.ENDED;
        if (late()) {
            // The deadline holds for the whole stream.
            flow.fail(named(failure));
            return;
        }
        for (StreamedCall request : pending.unfinished()) {
            if (!flow.callEnded()) {
                request.exchange().fail(named(failure));
            }
        }
        flow.ended(key, this);
    }

    private boolean late() {
        return flow.call().hasDeadline() && System.nanoTime() - flow.call().deadlineNanos() >= 0;
    }

    /**
     * The client's stream has ended.
     *
     * @param failure that it has ended with; null if the client has cancelled it
     */
    void cancel(@Nullable OipException failure) {
        if (failure == null) {
            pending.end();
        } else {
            pending.unfinished().forEach(request -> {
                request.exchange().excuseTarget();
                request.exchange().fail(failure);
            });
        }
        stream.cancel();
    }

    /**
     * The requests of a stream to a server whose last response is not known to have arrived: those that wait for their first
     * response, and one with a response. Servers that do not mark last responses ({@code triton_final_response}), or send
     * none that is marked, have ended a request when they respond to another one, or when their stream ends.
     *
     * <p>A response belongs to the request with its id. Without that it belongs to the first one that waits: servers respond
     * in order.
     */
    private static final class PendingRequests {
        /** A request that is never answered is forgotten when so many wait behind it. */
        private static final int MAX_WAITING = 1024;

        private final Deque<StreamedCall> waiting = new ArrayDeque<>(4);
        private @Nullable StreamedCall responded;

        void add(StreamedCall request) {
            if (waiting.size() >= MAX_WAITING) {
                waiting.remove().exchange().request().cancel();
            }
            waiting.add(request);
        }

        /** As {@link #of} for a response; the one with the previous response has ended if it is another one. */
        @Nullable
        StreamedCall responding(String id) {
            StreamedCall request = of(id);
            if (request != null && request != responded) {
                waiting.remove(request);
                endResponded();
                responded = request;
            }
            return request;
        }

        /** A request has ended. */
        void remove(StreamedCall request) {
            if (request == responded) {
                responded = null;
            } else {
                waiting.remove(request);
            }
        }

        /** The request that a response or an error belongs to. */
        @Nullable
        StreamedCall of(String id) {
            for (StreamedCall request : waiting) {
                if (request.id().equals(id)) {
                    return request;
                }
            }
            return responded != null && (waiting.isEmpty() || responded.id().equals(id)) ? responded : waiting.peek();
        }

        /** Those without a response go to another target, which names the model so. */
        void redirected(OipException failure, ModelRef model) {
            waiting.forEach(request -> request.exchange().redirected(failure, model));
        }

        /** The stream has failed: removes the requests that have failed with it. */
        List<StreamedCall> unfinished() {
            List<StreamedCall> unfinished = new ArrayList<>(waiting);
            if (unfinished.isEmpty() && responded != null) {
                unfinished.add(responded);
            } else {
                endResponded();
            }
            responded = null;
            waiting.clear();
            return unfinished;
        }

        /** The stream has ended well, or because of its client: what still waits has no outcome. */
        void end() {
            endResponded();
            while (!waiting.isEmpty()) {
                waiting.remove().exchange().request().cancel();
            }
        }

        private void endResponded() {
            if (responded != null) {
                responded.exchange().complete();
                responded = null;
            }
        }
    }
}
