package dev.isthmus.gateway.call;

import dev.isthmus.oip.ErrorCode;
import org.jspecify.annotations.Nullable;

/**
 * The span of a call, of an attempt or of a copy for a shadow. A call always has one; {@link #NONE} if calls are not
 * traced. Used on the call's event loop; throws nothing.
 */
public interface TraceSpan {
    /** Nothing is traced, and headers are forwarded as they are. */
    TraceSpan NONE = new Untraced();

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

    /** The call as it is sent to a server: with the headers that make the server's span a child of this one. */
    Call propagated(Call call);

    /**
     * The attempt or copy has ended; only the first call has an effect. A call's own span ends with its context.
     *
     * @param code null if it has not failed
     * @param reason empty if it has not failed
     */
    default void ended(@Nullable ErrorCode code, String reason) {}

    /** The span of calls that are not traced. */
    final class Untraced implements TraceSpan {
        private Untraced() {}

        @Override
        public String traceId() {
            return "";
        }

        @Override
        public Call propagated(Call call) {
            return call;
        }
    }
}
