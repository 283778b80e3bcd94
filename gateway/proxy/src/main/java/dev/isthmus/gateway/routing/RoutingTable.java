package dev.isthmus.gateway.routing;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelNames;
import dev.isthmus.gateway.settings.ModelNames.Match;
import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Which route takes a model: its exact name, then an alias, then patterns, those with more literal characters first; then,
 * where the configuration names none, an upstream that was found to serve it, then the default upstream. Immutable; used by all event loops.
 */
public final class RoutingTable {
    /** The key of the default upstream's route. */
    public static final String DEFAULT = "default";
    /** The key of the routes of models that upstreams were found to serve. */
    public static final String DISCOVERED = "discovered";

    private static final int CACHED_NAMES = 4096;
    private static final int CACHED_LENGTH = 256;
    private static final int SHOWN_LENGTH = 128;

    private final Map<String, Route> configured;
    private final Map<String, Route> byName;
    private final ModelNames names;
    // Names are client-made: few are kept, and no long ones.
    private final Cache<String, Route> byPattern = Caffeine.newBuilder()
            .maximumSize(CACHED_NAMES)
            .executor(Runnable::run)
            .build();
    private final Supplier<Map<String, Upstream>> discovered;
    private final Map<Upstream, Route> byDiscovery = new ConcurrentHashMap<>();
    private final @Nullable Upstream fallback;
    private final @Nullable Route fallbackRoute;
    private final SelectionState choices;

    /**
     * A table of the configured models.
     *
     * @param models by name or pattern
     * @param upstreams gives the upstream of a name, or throws
     * @param fallback takes the models that are not known otherwise; null refuses them
     * @param discovered the models that upstreams were found to serve, now; asked for each call of a model that is not configured
     * @throws IllegalArgumentException for a model that is configured as it cannot be
     */
    public RoutingTable(
            Map<String, ModelConfig> models,
            Function<String, Upstream> upstreams,
            @Nullable Upstream fallback,
            Supplier<Map<String, Upstream>> discovered,
            SelectionState choices) {
        SortedMap<String, Route> routes = new TreeMap<>();
        models.forEach((name, config) ->
                routes.put(name, new Route(name, ModelPattern.is(name) ? null : name, config, upstreams, choices)));
        this.configured = routes;
        this.names = new ModelNames(models);
        Map<String, Route> exact = new HashMap<>();
        names.exact().forEach((name, match) -> exact.put(name, routeOf(match)));
        this.byName = Map.copyOf(exact);
        this.discovered = discovered;
        this.choices = choices;
        this.fallback = fallback;
        this.fallbackRoute = fallback == null ? null : whole(DEFAULT, fallback);
    }

    private Route routeOf(Match match) {
        return Objects.requireNonNull(configured.get(match.key()));
    }

    /** The route to an upstream as it is. */
    private Route whole(String key, Upstream upstream) {
        return new Route(key, null, ModelConfig.of(upstream.name()), name -> upstream, choices);
    }

    /**
     * The route that takes a model.
     *
     * @throws OipException NOT_FOUND for a model that no upstream serves
     */
    public Route route(ModelRef model) {
        return required(find(model), model);
    }

    /**
     * A route that {@link #find} found.
     *
     * @throws OipException NOT_FOUND where there is none, for a model that no upstream serves
     */
    public static Route required(@Nullable Route found, ModelRef model) {
        if (found == null) {
            throw new OipException(ErrorCode.NOT_FOUND, "unknown model '" + shown(model.name()) + "'");
        }
        return found;
    }

    /** The route that takes a model; null where no upstream serves it. Costs one look-up for a configured name. */
    public @Nullable Route find(ModelRef model) {
        String name = model.name();
        Route exact = byName.get(name);
        if (exact != null) {
            return exact;
        }
        Route matching = matching(name);
        if (matching != null) {
            return matching;
        }
        Upstream server = discovered.get().get(name);
        if (server != null) {
            return byDiscovery.computeIfAbsent(server, upstream -> whole(DISCOVERED, upstream));
        }
        return fallbackRoute;
    }

    private @Nullable Route matching(String name) {
        if (!names.hasPatterns()) {
            return null;
        }
        boolean kept = name.length() <= CACHED_LENGTH;
        Route cached = kept ? byPattern.getIfPresent(name) : null;
        if (cached != null) {
            return cached;
        }
        Match match = names.matching(name).orElse(null);
        if (match == null) {
            return null;
        }
        Route route = routeOf(match);
        if (kept) {
            byPattern.put(name, route);
        }
        return route;
    }

    private static String shown(String name) {
        return name.length() <= SHOWN_LENGTH
                ? name
                : name.substring(0, name.offsetByCodePoints(0, SHOWN_LENGTH / 2)) + "...";
    }

    /** The routes of the configuration, in the order of their names and patterns. */
    public Collection<Route> routes() {
        return configured.values();
    }

    /** The upstream that takes what is not listed. */
    public Optional<Upstream> defaultUpstream() {
        return Optional.ofNullable(fallback);
    }
}
