package dev.isthmus.gateway.identity;

import com.nimbusds.jwt.JWTClaimsSet;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import dev.isthmus.gateway.settings.AuthenticationConfig.JwtConfig;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The caller that the claims of a verified token describe. */
final class JwtClaims {
    private static final int MAX_NAME = 255;

    private final JwtConfig config;

    JwtClaims(JwtConfig config) {
        this.config = config;
    }

    Principal principal(JWTClaimsSet set) throws CredentialException {
        if (!(set.getClaim(config.nameClaim()) instanceof String name) || name.isBlank() || name.length() > MAX_NAME) {
            throw new CredentialException(CredentialFailure.NO_NAME);
        }
        Map<String, Set<String>> texts = new HashMap<>();
        set.getClaims().forEach((claim, value) -> {
            Set<String> values = texts(value);
            if (!values.isEmpty()) {
                texts.put(claim, Set.copyOf(values));
            }
        });
        return new Principal(name, groups(set.getClaim(config.groupsClaim())), texts, IdentifiedBy.JWT);
    }

    private static Set<String> groups(@Nullable Object claim) {
        return claim instanceof String text
                ? new HashSet<>(List.of(text.strip().split(" +", -1)))
                : claim == null ? Set.of() : texts(claim);
    }

    /** Texts, numbers and booleans; of a list, those in it. */
    private static Set<String> texts(@Nullable Object value) {
        Set<String> texts = new HashSet<>();
        Collection<?> values = value instanceof Collection<?> list ? list : value == null ? List.of() : List.of(value);
        for (Object each : values) {
            if (each instanceof String || each instanceof Number || each instanceof Boolean) {
                texts.add(each.toString());
            }
        }
        return texts;
    }
}
