package dev.isthmus.gateway.explain;

import dev.isthmus.gateway.settings.SharedConfig;
import dev.isthmus.gateway.settings.Units;
import org.jspecify.annotations.Nullable;

/** Describes in text who counts the calls of a model with rates. */
final class SharingDescription {
    private SharingDescription() {}

    /** @param shared null if gateways share nothing */
    static String of(@Nullable SharedConfig shared) {
        if (shared == null) {
            return "rates: counted by each gateway alone";
        }
        return "rates: counted by all gateways together, in " + shared.servers() + "; if it fails or is slow, "
                + switch (shared.onFailure()) {
                    case LOCAL -> "by each gateway alone";
                    case OPEN -> "not at all";
                    case CLOSED -> "calls are rejected with 503";
                }
                + ", until it has answered in time for " + Units.written(shared.recovery());
    }
}
