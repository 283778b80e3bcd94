package dev.isthmus.gateway.call;

import dev.isthmus.oip.ErrorCode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The span of a call, of an attempt, of a copy for a shadow or of a joined call. A call always has one; {@link #NONE} if calls are not
 * traced. Used on the call's event loop; throws nothing.
 */
public interface TraceSpan {
    /** Nothing is traced, and headers are forwarded as they are. */
    TraceSpan NONE = new TraceSpan() {
        @Override
        public String traceId() {
            return "";
        }

        @Override
        public Call propagated(Call call) {
            return call;
        }
    };

    /** 32 hexadecimal digits; empty for {@link #NONE}. */
    String traceId();

    /** 16 hexadecimal digits; empty if the span is not sampled. */
    default String spanId() {
        return "";
    }

    /** Whether the span is recorded. */
    default boolean sampled() {
        return false;
    }

    /** Begins the span of an attempt of this call or copy; this one if it is not sampled. */
    default TraceSpan attempt(Operation operation, AttemptTarget target) {
        return this;
    }

    /**
     * Begins the span of a copy of this call; this one if it is not sampled.
     *
     * @param shadow the shadow's label
     */
    default TraceSpan copy(String shadow) {
        return this;
    }

    /**
     * Begins the span of a call that is sent for several calls, as a child of this one; this one if it is not sampled.
     *
     * @param calls the spans of these calls, this one too; they may belong to other event loops
     */
    default TraceSpan joined(List<TraceSpan> calls) {
        return this;
    }

    /** This call gets the response of a call with another span, which may belong to another event loop. */
    default void linked(TraceSpan other) {}

    /** What the cache did with this call; the last one counts. */
    default void cached(String result) {}

    /** The call as it is sent to a server: with the headers that make the server's span a child of this one. */
    Call propagated(Call call);

    /**
     * The attempt, copy or joined call has ended; only the first call has an effect. A call's own span ends with its context.
     *
     * @param code null if it has not failed
     * @param reason empty if it has not failed
     */
    default void ended(@Nullable ErrorCode code, String reason) {}
}
