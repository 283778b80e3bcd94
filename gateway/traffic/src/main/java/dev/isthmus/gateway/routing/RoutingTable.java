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
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Maps a model to its route: by exact name, by alias, by pattern, patterns with more literal characters first; then,
 * for models that are not configured, to an upstream discovered to serve it, or the default upstream. Immutable and
 * thread-safe.
 */
public final class RoutingTable {
    /** The key of the default upstream's route. */
    public static final String DEFAULT = "default";
    /** The key of routes to discovered upstreams. */
    public static final String DISCOVERED = "discovered";

    private static final int CACHED_NAMES = 4096;
    private static final int CACHED_LENGTH = 256;
    private static final int SHOWN_LENGTH = 128;

    private final Map<String, Route> configured;
    private final Map<String, Route> byName;
    private final ModelNames names;
    // Clients choose the names, so their number and length are bounded.
    private final Cache<String, Route> byPattern = Caffeine.newBuilder()
            .maximumSize(CACHED_NAMES)
            .executor(Runnable::run)
            .build();
    private final Supplier<Map<String, Upstream>> discovered;
    private final Map<Upstream, Route> byDiscovery = new ConcurrentHashMap<>();
    private final @Nullable Upstream fallback;
    private final @Nullable Route fallbackRoute;
    private final SelectionState selectionState;

    /**
     * @param models by name or pattern
     * @param upstreams returns the upstream of a name, or throws
     * @param fallback the default upstream for unknown models; null rejects them
     * @param discovered the models currently discovered on upstreams; read for each call of a model that is not
     *     configured
     * @throws IllegalArgumentException if a model's configuration is invalid
     */
    public RoutingTable(
            Map<String, ModelConfig> models,
            Function<String, Upstream> upstreams,
            @Nullable Upstream fallback,
            Supplier<Map<String, Upstream>> discovered,
            SelectionState selectionState) {
        SortedMap<String, Route> routes = new TreeMap<>();
        models.forEach((name, config) -> routes.put(
                name, new Route(name, ModelPattern.is(name) ? null : name, config, upstreams, selectionState)));
        this.configured = routes;
        this.names = new ModelNames(models);
        Map<String, Route> exact = new HashMap<>();
        names.exact().forEach((name, match) -> exact.put(name, routeOf(match)));
        this.byName = Map.copyOf(exact);
        this.discovered = discovered;
        this.selectionState = selectionState;
        this.fallback = fallback;
        this.fallbackRoute = fallback == null ? null : whole(DEFAULT, fallback);
    }

    private Route routeOf(Match match) {
        return Objects.requireNonNull(configured.get(match.key()));
    }

    /** A route to an upstream without further configuration. */
    private Route whole(String key, Upstream upstream) {
        return new Route(key, null, ModelConfig.of(upstream.name()), name -> upstream, selectionState);
    }

    /** As {@link #find}, but throws NOT_FOUND for a model that no upstream serves. */
    public Route route(ModelRef model) {
        return required(find(model), model);
    }

    /**
     * Returns the route that {@link #find} found.
     *
     * @throws OipException NOT_FOUND if there is none
     */
    public static Route required(@Nullable Route found, ModelRef model) {
        if (found == null) {
            throw new OipException(ErrorCode.NOT_FOUND, "unknown model '" + shown(model.name()) + "'");
        }
        return found;
    }

    /** The route of a model; null if no upstream serves it. One map look-up for a configured name. */
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

    /**
     * The names whose cached responses are outdated if a model has changed: the name itself, those that servers know it
     * by, and the key of its route, unless that is a pattern.
     */
    public Set<String> purgedNames(ModelRef model) {
        Set<String> names = new HashSet<>();
        names.add(model.name());
        Route route = find(model);
        if (route != null) {
            names.addAll(route.modelNames(model));
            if (!ModelPattern.is(route.key())) {
                names.add(route.key());
            }
        }
        return names;
    }

    private @Nullable Route matching(String name) {
        if (!names.hasPatterns()) {
            return null;
        }
        boolean cacheable = name.length() <= CACHED_LENGTH;
        Route cached = cacheable ? byPattern.getIfPresent(name) : null;
        if (cached != null) {
            return cached;
        }
        Match match = names.matching(name).orElse(null);
        if (match == null) {
            return null;
        }
        Route route = routeOf(match);
        if (cacheable) {
            byPattern.put(name, route);
        }
        return route;
    }

    private static String shown(String name) {
        return name.length() <= SHOWN_LENGTH
                ? name
                : name.substring(0, name.offsetByCodePoints(0, SHOWN_LENGTH / 2)) + "...";
    }

    /** The configuration entry that matches a name, and how; empty if none does. */
    public Optional<Match> match(String name) {
        return names.find(name);
    }

    /** The configured routes, ordered by name or pattern. */
    public Collection<Route> routes() {
        return configured.values();
    }

    public boolean isConfigured(Route route) {
        return configured.get(route.key()) == route;
    }

    /** The upstream for models that are not configured. */
    public Optional<Upstream> defaultUpstream() {
        return Optional.ofNullable(fallback);
    }
}
