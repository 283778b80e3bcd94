package dev.isthmus.gateway.identity;

import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import dev.isthmus.gateway.settings.ApiKeyFile;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The callers by the SHA-256 of their API keys. Immutable. */
final class ApiKeys {
    static final ApiKeys NONE = new ApiKeys(List.of());

    private final Map<Sha256Digest, Principal> callers;

    /** @param entries the keys of one name become one caller */
    ApiKeys(List<ApiKeyFile.ApiKeyEntry> entries) {
        Map<String, Principal> named = new HashMap<>();
        Map<Sha256Digest, Principal> keys = new HashMap<>();
        for (ApiKeyFile.ApiKeyEntry entry : entries) {
            Principal caller = named.computeIfAbsent(
                    entry.name(), name -> new Principal(name, entry.groups(), Map.of(), IdentifiedBy.API_KEY));
            keys.put(Sha256Digest.fromBytes(HexFormat.of().parseHex(entry.sha256())), caller);
        }
        callers = Map.copyOf(keys);
    }

    /** The caller with this key; null if there is none. */
    @Nullable
    Principal find(String key) {
        return callers.get(Sha256Digest.of(key));
    }
}
