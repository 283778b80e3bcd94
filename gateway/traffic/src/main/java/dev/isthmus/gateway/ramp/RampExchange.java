package dev.isthmus.gateway.ramp;

import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps ramps equal to those of other gateways. Without common states, a ramp changes by itself. May block. */
final class RampExchange {
    private static final Logger LOG = LoggerFactory.getLogger(RampExchange.class);

    private final @Nullable SharedRamps shared;
    private final InstantSource clock;

    /** @param shared the common states; null for none */
    RampExchange(@Nullable SharedRamps shared, InstantSource clock) {
        this.shared = shared;
        this.clock = clock;
    }

    /** Takes over the common state, and adds a rollback to it. Returns false if it cannot be reached. */
    boolean merge(Ramp ramp) {
        return exchange(ramp, SharedRamps.RampCommand.MERGE, ramp.saved());
    }

    /** Advances a ramp, together with the others. It stays at its step if they cannot be reached. */
    void advance(Ramp ramp, SavedRamp next) {
        if (shared == null) {
            ramp.next();
        } else {
            exchange(ramp, SharedRamps.RampCommand.ADVANCE, next);
        }
    }

    /**
     * An operator's command.
     *
     * @throws OipException UNAVAILABLE if the common state cannot be changed
     */
    void command(Ramp ramp, SharedRamps.RampCommand command) {
        if (shared == null) {
            switch (command) {
                case PAUSE -> ramp.pause();
                case RESUME -> ramp.resume();
                case RESTART -> ramp.restart();
                case MERGE, ADVANCE -> {}
            }
        } else if (!exchange(ramp, command, ramp.saved())) {
            throw new OipException(
                    ErrorCode.UNAVAILABLE,
                    "the ramp of model '" + ramp.plan().model()
                            + "' is shared, and the store does not answer; only a rollback is possible now");
        }
    }

    private synchronized boolean exchange(Ramp ramp, SharedRamps.RampCommand command, SavedRamp wanted) {
        if (shared == null) {
            return true;
        }
        SavedRamp mine = ramp.saved();
        try {
            SavedRamp timed = wanted.with(wanted.state(), wanted.step(), clock.instant());
            ramp.adopt(shared.exchange(ramp.plan().model(), mine, command, timed));
            return true;
        } catch (IOException e) {
            LOG.debug("ramp of model '{}': {}", ramp.plan().model(), FailureReason.of(e));
            return false;
        }
    }
}
