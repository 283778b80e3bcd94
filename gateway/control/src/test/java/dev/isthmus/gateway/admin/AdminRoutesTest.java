package dev.isthmus.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.admin.AdminRoutes.AdminRoute;
import dev.isthmus.gateway.admin.AdminRoutes.RouteMatch;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which route serves a path. */
class AdminRoutesTest {
    private static final Handler EXACT = new Handler("exact");
    private static final Handler BELOW = new Handler("below");
    private static final Handler DEEPER = new Handler("deeper");

    private final AdminRoutes routes = new AdminRoutes()
            .route("GET", "/ramps", EXACT)
            .route("GET", "/ramps/*", BELOW)
            .route("GET", "/ramps/saved/*", DEEPER)
            .route("POST", "/ramps/*", BELOW);

    private record Handler(String name) implements Function<AdminRequest, AdminResponse> {
        @Override
        public AdminResponse apply(AdminRequest request) {
            return AdminResponse.json(200, Map.of());
        }
    }

    private static RouteMatch match(Handler handler, String tail) {
        return new RouteMatch(new AdminRoute(RouteAccess.READ, "", handler), tail);
    }

    private RouteMatch find(String path) {
        return Objects.requireNonNull(routes.find("GET", path), path);
    }

    @Test
    void path_isServedByItsOwnRoute() {
        assertThat(find("/ramps")).isEqualTo(match(EXACT, ""));
    }

    @Test
    void pathBelow_isServedByTheLongestRoute_withTheRest() {
        assertThat(find("/ramps/a/b")).isEqualTo(match(BELOW, "a/b"));
        assertThat(find("/ramps/saved/a")).isEqualTo(match(DEEPER, "a"));
        assertThat(find("/ramps/saved")).isEqualTo(match(BELOW, "saved"));
    }

    @ParameterizedTest
    @CsvSource({"/", "/ramps/", "/rampsx", "/other/ramps/a", "ramps/a"})
    void otherPaths_haveNoRoute(String path) {
        assertThat(routes.find("GET", path)).isNull();
        assertThat(routes.methods(path)).isEmpty();
    }

    @Test
    void methods_areThoseOfThePath() {
        assertThat(routes.methods("/ramps")).containsExactly("GET");
        assertThat(routes.methods("/ramps/a")).containsExactly("GET", "POST");
    }

    @Test
    void route_needsAKnownMethodAndAPath() {
        assertThatThrownBy(() -> routes.route("PUT", "/a", EXACT)).hasMessageContaining("got PUT /a");
        assertThatThrownBy(() -> routes.route("GET", "a", EXACT)).hasMessageContaining("got GET a");
    }
}
