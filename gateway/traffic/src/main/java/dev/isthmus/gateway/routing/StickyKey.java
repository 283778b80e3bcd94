package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.settings.ModelConfig;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The header or request parameter that keeps a client on one target and server. */
record StickyKey(boolean header, String name) {

    static @Nullable StickyKey of(ModelConfig.@Nullable RequestKey key) {
        if (key == null) {
            return null;
        }
        if (key.header() != null) {
            return new StickyKey(true, key.header().toLowerCase(Locale.ROOT));
        }
        if (key.parameter() != null) {
            return new StickyKey(false, key.parameter());
        }
        throw new IllegalArgumentException("a sticky key must name a header or a parameter");
    }

    /** The key's value in a request; null if it is absent or empty. */
    @Nullable
    String value(RequestAttributes attributes) {
        String value = header ? attributes.header(name) : attributes.parameter(name);
        return value == null || value.isEmpty() ? null : value;
    }
}
