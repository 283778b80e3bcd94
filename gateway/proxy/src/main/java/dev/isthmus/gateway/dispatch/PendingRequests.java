package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The requests of a stream to a server whose last response is not known to have arrived: those that wait for their first
 * response, and one with a response. Servers that do not mark last responses ({@code triton_final_response}), or send
 * none that is marked, have ended a request when they respond to another one, or when their stream ends.
 *
 * <p>A response belongs to the request with its id. Without that it belongs to the first one that waits: servers respond
 * in order.
 */
final class PendingRequests {
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

    /** The request that a response belongs to; the one with the previous response has ended if it is another one. */
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

    /** The request that an error belongs to, which has ended. */
    @Nullable
    StreamedCall failing(String id) {
        StreamedCall request = of(id);
        if (request != null) {
            remove(request);
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

    private @Nullable StreamedCall of(String id) {
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
        for (Iterator<StreamedCall> rest = waiting.iterator(); rest.hasNext(); rest.remove()) {
            rest.next().exchange().request().cancel();
        }
    }

    private void endResponded() {
        if (responded != null) {
            responded.exchange().complete();
            responded = null;
        }
    }
}
