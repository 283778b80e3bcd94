package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.ramp.RampState;
import dev.isthmus.gateway.ramp.SavedRamp;
import dev.isthmus.gateway.ramp.SharedRamps;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutionException;

/** States of ramps in Redis: one hash for each model and configuration of its ramp. */
final class RedisRamps implements SharedRamps {
    private static final int DIGITS = 16;

    private final RedisConnection connection;
    private final String prefix;

    RedisRamps(RedisConnection connection, String prefix) {
        this.connection = connection;
        this.prefix = prefix;
    }

    @Override
    public SavedRamp exchange(String model, SavedRamp mine, RampCommand command, SavedRamp wanted) throws IOException {
        try {
            return connection
                    .run(
                            RedisScript.RAMP,
                            key(model, mine.configuration()),
                            common -> ramp(mine, common),
                            late -> {},
                            command.name().toLowerCase(Locale.ROOT),
                            Long.toString(mine.round()),
                            Integer.toString(mine.step()),
                            mine.state().label(),
                            mine.reason(),
                            mine.changed().toString(),
                            Integer.toString(wanted.step()),
                            wanted.state().label(),
                            wanted.changed().toString())
                    .get();
        } catch (ExecutionException e) {
            throw new IOException(String.valueOf(e.getCause()), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("closing");
        }
    }

    private static SavedRamp ramp(SavedRamp mine, List<Object> common) {
        return new SavedRamp(
                mine.configuration(),
                RampState.valueOf(((String) common.get(2)).toUpperCase(Locale.ROOT)),
                Math.toIntExact((Long) common.get(1)),
                mine.share(),
                (String) common.get(3),
                Instant.parse((String) common.get(4)),
                (Long) common.get(0));
    }

    /** The model's name comes last, as it may have any characters. */
    private String key(String model, String configuration) {
        return prefix + "ramp:" + RedisScript.digest("SHA-256", configuration).substring(0, DIGITS) + ":" + model;
    }
}
