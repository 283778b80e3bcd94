package dev.isthmus.gateway.admin;

import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The routes of the admin listener. Thread-safe; routes may be added at any time. */
public final class AdminRoutes {
    static final String GET = "GET";
    static final String POST = "POST";
    private static final List<String> METHODS = List.of(GET, POST);

    private final Map<String, AdminRoute> routes = new ConcurrentHashMap<>();

    /** @param audited the action in the audit log; empty for a route that is not recorded there */
    record AdminRoute(RouteAccess access, String audited, Function<AdminRequest, AdminResponse> handler) {}

    record RouteMatch(AdminRoute route, String tail) {}

    /**
     * Adds or replaces a route. GET is for {@link RouteAccess#READ}; POST for {@link RouteAccess#ADMIN}.
     *
     * @param method GET for reading; POST for changes
     * @param path as in the URL; a path that ends in {@code /*} matches everything below it
     * @param handler called on one of the few threads of the admin listener; may block briefly, and throw an
     *     {@link dev.isthmus.oip.OipException} to reject the request with the HTTP status of its code
     */
    public AdminRoutes route(String method, String path, Function<AdminRequest, AdminResponse> handler) {
        return route(method, path, method.equals(GET) ? RouteAccess.READ : RouteAccess.ADMIN, handler);
    }

    /** Adds a route, with who may use it. */
    public AdminRoutes route(
            String method, String path, RouteAccess access, Function<AdminRequest, AdminResponse> handler) {
        return add(method, path, new AdminRoute(access, "", handler));
    }

    /**
     * As the other ones. What it does is in the audit log.
     *
     * @param action in a few words; the response may say more ({@link AdminResponse#changed})
     */
    public AdminRoutes change(
            String method,
            String path,
            RouteAccess access,
            String action,
            Function<AdminRequest, AdminResponse> handler) {
        return add(method, path, new AdminRoute(access, action, handler));
    }

    private AdminRoutes add(String method, String path, AdminRoute route) {
        if (!METHODS.contains(method) || !path.startsWith("/")) {
            throw new IllegalArgumentException(
                    "a route needs GET or POST and a path that starts with '/', got " + method + " " + path);
        }
        routes.put(method + " " + path, route);
        return this;
    }

    /** @param path without the query, not decoded */
    @Nullable
    RouteMatch find(String method, String path) {
        AdminRoute exact = routes.get(method + " " + path);
        if (exact != null) {
            return new RouteMatch(exact, "");
        }
        for (int slash = path.lastIndexOf('/'); slash >= 0; slash = path.lastIndexOf('/', slash - 1)) {
            AdminRoute below = routes.get(method + " " + path.substring(0, slash) + "/*");
            if (below != null && slash + 1 < path.length()) {
                return new RouteMatch(below, path.substring(slash + 1));
            }
        }
        return null;
    }

    /** The methods supported by a path; empty for an unknown path. */
    List<String> methods(String path) {
        return METHODS.stream().filter(method -> find(method, path) != null).toList();
    }

    /** All routes, for error messages. */
    List<String> all() {
        return List.copyOf(new TreeSet<>(routes.keySet()));
    }
}
