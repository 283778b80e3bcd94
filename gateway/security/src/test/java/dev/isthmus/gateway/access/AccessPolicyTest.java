package dev.isthmus.gateway.access;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.settings.AccessConfig;
import dev.isthmus.gateway.settings.AccessConfig.AccessRule;
import dev.isthmus.gateway.settings.AccessConfig.Callers;
import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.oip.ModelRef;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class AccessPolicyTest {
    private static final ModelRef M = ModelRef.of("m");

    private static AccessRule rule(String name, Map<String, ?> who, Set<Permission> may, String... models) {
        return new AccessRule(
                name, TestConfigs.with(DefaultValues.of(Callers.class), who), may, List.of(models), List.of());
    }

    private static AccessPolicy policy(AccessRule... rules) {
        Map<String, Object> access = new HashMap<>();
        access.put("access", new AccessConfig(List.of(rules)));
        return AccessPolicy.of(TestConfigs.with(GatewayConfig.embedded(), access));
    }

    private static Principal caller(String name, String... groups) {
        return new Principal(name, Set.of(groups), Map.of("tenant", Set.of("acme")), IdentifiedBy.JWT);
    }

    private static boolean may(AccessPolicy policy, Principal caller, Permission permission, ModelRef model) {
        return policy.onModel(caller, "127.0.0.1:8080", permission, model).allowed();
    }

    @Test
    void withoutRules_everythingButManagementIsAllowed() {
        AccessPolicy policy = AccessPolicy.of(GatewayConfig.embedded());
        for (Permission each : Permission.values()) {
            assertThat(may(policy, Principal.ANONYMOUS, each, M))
                    .as(each.label())
                    .isEqualTo(!each.management());
        }
    }

    @Test
    void withRules_whatNoneAllowsIsRefused() {
        AccessPolicy policy = policy(rule("r", Map.of("names", List.of("alice")), Set.of(Permission.INFER), "m"));
        assertThat(policy.onModel(caller("alice"), "", Permission.INFER, M)).isEqualTo(new AccessDecision(true, "r"));
        assertThat(may(policy, caller("alice"), Permission.INFER, ModelRef.of("n")))
                .isFalse();
        assertThat(may(policy, caller("alice"), Permission.METADATA, M)).isFalse();
        assertThat(may(policy, caller("bob"), Permission.INFER, M)).isFalse();
        assertThat(may(policy, Principal.ANONYMOUS, Permission.INFER, M)).isFalse();
    }

    @Test
    void conditions_areAllRequired() {
        AccessPolicy policy = policy(rule(
                "r",
                Map.of(
                        "groups", List.of("a", "b"),
                        "claims", Map.of("tenant", "acme"),
                        "identifiedBy", Set.of(IdentifiedBy.JWT)),
                Set.of(Permission.INFER)));
        assertThat(may(policy, caller("x", "b"), Permission.INFER, M)).isTrue();
        assertThat(may(policy, caller("x", "c"), Permission.INFER, M)).isFalse();
        Principal key = new Principal("x", Set.of("b"), Map.of(), IdentifiedBy.API_KEY);
        assertThat(may(policy, key, Permission.INFER, M)).isFalse();
    }

    @Test
    void san_isOfTheCertificateOnly() {
        AccessPolicy policy = policy(rule("r", Map.of("sans", List.of("spiffe://a")), Set.of(Permission.INFER)));
        Map<String, Set<String>> sans = Map.of(Principal.SANS, Set.of("spiffe://a"));
        assertThat(may(policy, new Principal("x", Set.of(), sans, IdentifiedBy.CERTIFICATE), Permission.INFER, M))
                .isTrue();
        assertThat(may(policy, new Principal("x", Set.of(), sans, IdentifiedBy.JWT), Permission.INFER, M))
                .isFalse();
    }

    @Test
    void listener_isACondition() {
        AccessPolicy policy = policy(rule("r", Map.of("listeners", List.of("a:1")), Set.of(Permission.LOAD)));
        assertThat(policy.onModel(caller("x"), "a:1", Permission.LOAD, M).allowed())
                .isTrue();
        assertThat(policy.onModel(caller("x"), "b:2", Permission.LOAD, M).allowed())
                .isFalse();
    }

    @Test
    void patternsAndVersions_areThoseOfTheRequest() {
        AccessRule versions = new AccessRule(
                "v",
                DefaultValues.of(Callers.class),
                Set.of(Permission.INFER),
                List.of("team-*"),
                List.of("1", "stable"));
        AccessPolicy policy = policy(versions);
        for (int i = 0; i < 2; i++) {
            assertThat(may(policy, caller("x"), Permission.INFER, new ModelRef("team-a", "1")))
                    .isTrue();
            assertThat(may(policy, caller("x"), Permission.INFER, new ModelRef("team-a", "stable")))
                    .isTrue();
            assertThat(may(policy, caller("x"), Permission.INFER, new ModelRef("team-a", "2")))
                    .isFalse();
            assertThat(may(policy, caller("x"), Permission.INFER, ModelRef.of("team-a")))
                    .isFalse();
            assertThat(may(policy, caller("x"), Permission.INFER, new ModelRef("other", "1")))
                    .isFalse();
        }
    }

    @Test
    void operationsWithoutModel_readWithAnyRule_manageWithOneForAllModels() {
        AccessPolicy one =
                policy(rule("r", Map.of(), Set.of(Permission.METADATA, Permission.TRACE, Permission.STREAM), "m"));
        assertThat(one.onServer(caller("x"), "", Permission.METADATA).allowed()).isTrue();
        assertThat(one.onServer(caller("x"), "", Permission.STREAM).allowed()).isTrue();
        assertThat(one.onServer(caller("x"), "", Permission.TRACE).allowed()).isFalse();
        AccessPolicy all = policy(rule("r", Map.of(), Set.of(Permission.TRACE)));
        assertThat(all.onServer(caller("x"), "", Permission.TRACE).allowed()).isTrue();
    }
}
