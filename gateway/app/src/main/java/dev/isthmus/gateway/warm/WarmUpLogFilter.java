package dev.isthmus.gateway.warm;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.turbo.TurboFilter;
import ch.qos.logback.core.spi.FilterReply;
import org.jspecify.annotations.Nullable;
import org.slf4j.Marker;

/** Drops the log events of the warm-up's threads below ERROR. */
public final class WarmUpLogFilter extends TurboFilter {

    @Override
    public FilterReply decide(
            @Nullable Marker marker,
            Logger logger,
            Level level,
            @Nullable String format,
            Object @Nullable [] arguments,
            @Nullable Throwable thrown) {
        boolean ours = Thread.currentThread().getThreadGroup() == WarmUp.THREADS;
        return ours && !level.isGreaterOrEqual(Level.ERROR) ? FilterReply.DENY : FilterReply.NEUTRAL;
    }
}
