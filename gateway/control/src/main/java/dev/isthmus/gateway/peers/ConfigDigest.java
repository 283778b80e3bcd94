package dev.isthmus.gateway.peers;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.settings.Digests;
import dev.isthmus.gateway.settings.GatewayConfig;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Digests of a configuration, one for each section, by which configurations are compared without being sent. Those of the
 * last configuration are kept. Thread-safe.
 */
public final class ConfigDigest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int BYTES = 8;
    /** What each gateway has for itself: the addresses that it binds, and whom it asks. */
    private static final Set<String> OWN_KEYS = Set.of("host", "port", "peers");

    private volatile @Nullable KnownDigests known;

    private record KnownDigests(GatewayConfig config, Map<String, String> digests) {}

    /** The digests by section: the first 64 bits of SHA-256, in hexadecimal. References count, not what they stand for. */
    public Map<String, String> of(GatewayConfig config) {
        KnownDigests last = known;
        if (last == null || !last.config().equals(config)) {
            last = new KnownDigests(config, digests(config));
            known = last;
        }
        return last.digests();
    }

    private static Map<String, String> digests(GatewayConfig config) {
        Map<String, String> digests = new LinkedHashMap<>();
        config.document()
                .forEach((section, value) ->
                        digests.put(section, digest(isAddressed(section) ? withoutOwnKeys(value) : value)));
        return digests;
    }

    private static boolean isAddressed(String section) {
        return section.equals("listeners") || section.equals("admin");
    }

    private static Object withoutOwnKeys(Object value) {
        if (value instanceof Collection<?> items) {
            List<Object> copies = new ArrayList<>();
            items.forEach(item -> copies.add(withoutOwnKeys(item)));
            return copies;
        }
        if (value instanceof Map<?, ?> section) {
            Map<Object, Object> copy = new LinkedHashMap<>(section);
            copy.keySet().removeAll(OWN_KEYS);
            return copy;
        }
        return value;
    }

    /** The digest of a value as JSON. */
    static String digest(Object value) {
        String text = JSON.valueToTree(value).toString();
        return HexFormat.of().formatHex(Digests.of(Digests.SHA_256, text), 0, BYTES);
    }
}
