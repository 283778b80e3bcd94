package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ModelConfig.RampConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The differences between two configurations, by configuration key.
 *
 * @param changes applied by a reload: {@code upstream 't': timeout: 60s -> 10s}
 * @param needRestart applied only by a restart, in the same form
 * @param effects what a reload does beside that: "listener 0.0.0.0:8080: binds port 8080"
 */
public record ConfigDiff(List<String> changes, List<String> needRestart, List<String> effects) {
    private static final Set<String> AT_START = Set.of("admin", "ramps", "shared");
    private static final Set<String> BY_NAME = Set.of("upstreams", "models");

    public ConfigDiff {
        changes = List.copyOf(changes);
        needRestart = List.copyOf(needRestart);
        effects = List.copyOf(effects);
    }

    /** The changes from {@code before} to {@code after}. */
    public static ConfigDiff of(GatewayConfig before, GatewayConfig after) {
        Map<String, Object> old = document(before, after);
        Map<String, Object> recent = document(after, before);
        List<String> changes = new ArrayList<>();
        List<String> needRestart = new ArrayList<>();
        for (ConfigKey key : ConfigKey.of(GatewayConfig.class)) {
            String name = key.name();
            List<String> to = AT_START.contains(name) ? needRestart : changes;
            if (BY_NAME.contains(name)) {
                named(name.substring(0, name.length() - 1), old.get(name), recent.get(name), to);
            } else {
                compare(name, old.get(name), recent.get(name), to);
            }
        }
        return new ConfigDiff(
                changes,
                needRestart,
                ReloadEffects.of(before, after).stream()
                        .map(before.references()::masked)
                        .map(after.references()::masked)
                        .toList());
    }

    /** A value that came from a reference, which is shown in its place. */
    private record ReferencedValue(Object value, String reference) {
        @Override
        public String toString() {
            return reference;
        }
    }

    /** Without the models that the other one has alike: most of thousands. */
    private static Map<String, Object> document(GatewayConfig config, GatewayConfig other) {
        Map<String, ModelConfig> models = new TreeMap<>(config.models());
        models.entrySet().removeIf(each -> each.getValue().equals(other.models().get(each.getKey())));
        Map<String, Object> document = config.withModels(config.upstreams(), models, config.references())
                .values();
        config.references().replaceIn(document, ReferencedValue::new);
        return document;
    }

    /** Whether the two configurations are equal. */
    public boolean isEmpty() {
        return changes.isEmpty() && needRestart.isEmpty();
    }

    private static void named(String kind, @Nullable Object before, @Nullable Object after, List<String> to) {
        Map<?, ?> old = entries(before);
        Map<?, ?> recent = entries(after);
        Set<Object> names = new TreeSet<>(old.keySet());
        names.addAll(recent.keySet());
        for (Object name : names) {
            String what = kind + " '" + name + "'";
            if (!recent.containsKey(name)) {
                to.add(what + ": removed");
            } else if (!old.containsKey(name)) {
                to.add(what + ": added");
            } else {
                compare(what, old.get(name), recent.get(name), to);
            }
        }
    }

    private static void compare(String what, @Nullable Object before, @Nullable Object after, List<String> to) {
        if (!(before instanceof Map) || !(after instanceof Map)) {
            int told = to.size();
            Map<Object, Object> old = labelled(before);
            Map<Object, Object> recent = labelled(after);
            if (!old.isEmpty() && !recent.isEmpty()) {
                named(what + ":", old, recent, to);
            }
            if (to.size() == told && !Objects.equals(plain(before), plain(after))) {
                String from = shown(before);
                String next = shown(after);
                to.add(what + ": " + from + (from.equals(next) ? ": another value" : " -> " + next));
            }
            return;
        }
        Set<Object> keys = new LinkedHashSet<>(entries(before).keySet());
        keys.addAll(entries(after).keySet());
        for (Object key : keys) {
            compare(what + ": " + key, entries(before).get(key), entries(after).get(key), to);
        }
    }

    /** The sections of a list by name, or by host and port; empty if not all have one of their own. */
    private static Map<Object, Object> labelled(@Nullable Object value) {
        Map<Object, Object> sections = new LinkedHashMap<>();
        for (Object each : value instanceof List<?> list ? list : List.of()) {
            Map<?, ?> section = entries(each);
            String label = label(section, section.containsKey("name") ? List.of("name") : List.of("host", "port"));
            if (label == null || sections.put(label, section) != null) {
                return Map.of();
            }
        }
        return sections;
    }

    /** The values of these keys; null if one is absent or came from a reference. */
    private static @Nullable String label(Map<?, ?> section, List<String> keys) {
        List<String> parts = new ArrayList<>();
        for (String key : keys) {
            Object value = section.get(key);
            if (value == null || value instanceof ReferencedValue) {
                return null;
            }
            parts.add(value.toString());
        }
        return String.join(":", parts);
    }

    /** With values in place of references. */
    private static @Nullable Object plain(@Nullable Object value) {
        return switch (value) {
            case ReferencedValue referenced -> referenced.value();
            case List<?> list -> list.stream().map(ConfigDiff::plain).toList();
            case Map<?, ?> map -> {
                Map<Object, Object> all = new LinkedHashMap<>();
                map.forEach((key, each) -> all.put(key, Objects.requireNonNull(plain(each))));
                yield all;
            }
            case null, default -> value;
        };
    }

    private static Map<?, ?> entries(@Nullable Object section) {
        return section instanceof Map<?, ?> map ? map : Map.of();
    }

    private static String shown(@Nullable Object value) {
        return switch (value) {
            case null -> "none";
            case Map<?, ?> map ->
                map.entrySet().stream()
                        .map(each -> each.getKey() + ": " + shown(each.getValue()))
                        .collect(Collectors.joining(", ", "{", "}"));
            case List<?> list -> list.stream().map(ConfigDiff::shown).collect(Collectors.joining(", ", "[", "]"));
            default -> value.toString();
        };
    }

    /**
     * What a reload does, beside changing values: to sockets, connections, and the state that a gateway keeps while it runs.
     * It says what {@code Listeners}, {@code Upstreams}, {@code Authenticator} and {@code Ramps} do.
     */
    record ReloadEffects(GatewayConfig before, GatewayConfig after, List<String> effects) {

        static List<String> of(GatewayConfig before, GatewayConfig after) {
            ReloadEffects found = new ReloadEffects(before, after, new ArrayList<>());
            found.listeners();
            found.sections();
            new TreeMap<>(before.upstreams()).forEach(found::upstream);
            new TreeMap<>(before.models()).forEach(found::model);
            return found.effects;
        }

        private void listeners() {
            for (Listener old : before.listeners()) {
                if (after.listeners().stream().noneMatch(old::sameAddress)) {
                    effects.add("listener " + address(old) + ": accepts no more connections; open ones go on");
                }
            }
            for (Listener next : after.listeners()) {
                Optional<Listener> old =
                        before.listeners().stream().filter(next::sameAddress).findFirst();
                if (old.isEmpty()) {
                    added(next);
                } else if (!old.get().equals(next)) {
                    effects.add(
                            "listener " + address(next) + ": stays bound; its other settings hold for new connections");
                }
            }
        }

        private void added(Listener next) {
            Optional<Listener> inTheWay = before.listeners().stream()
                    .filter(old -> old.port() == next.port() && next.port() != 0 && (isAny(old) || isAny(next)))
                    .findFirst();
            effects.add(
                    inTheWay.isEmpty()
                            ? "listener " + address(next) + ": binds port " + next.port()
                            : "listener " + address(next) + ": needs a restart; the reload is rejected, as "
                                    + address(inTheWay.get()) + " has the port");
        }

        private static boolean isAny(Listener listener) {
            return List.of("0.0.0.0", "::").contains(listener.host());
        }

        private static String address(Listener listener) {
            return listener.host() + ":" + listener.port();
        }

        private void sections() {
            if (before.limits().maxConcurrentStreams() != after.limits().maxConcurrentStreams()) {
                effects.add("limits: max_concurrent_streams: holds for new connections");
            }
            if (before.authentication() != null
                    && after.authentication() != null
                    && !before.authentication().equals(after.authentication())) {
                effects.add("authentication: keys of files and of 'jwks_url' are read again");
            }
            LocalConfig old = before.local();
            if (old != null && !old.equals(after.local())) {
                effects.add(
                        after.local() == null
                                ? "local: its models are unloaded after their last call"
                                : "local: all of its models are loaded again");
            } else if (old == null && after.local() != null) {
                effects.add("local: its models are loaded before the change takes effect");
            }
        }

        private void upstream(String name, UpstreamConfig old) {
            UpstreamConfig next = after.upstreams().get(name);
            if (next == null) {
                effects.add("upstream '" + name + "': its connections close after its last call");
            } else if (!next.lasting().equals(old.lasting())
                    || Collections.disjoint(next.endpoints(), old.endpoints())
                    || !sameAround(next)) {
                effects.add("upstream '" + name
                        + "': its connections close after its last call; health, ejections and the circuit breaker of its"
                        + " servers begin anew");
            } else if (!next.equals(old)) {
                effects.add("upstream '" + name + "': servers that stay keep their connections, health and ejections");
            }
        }

        /** Whether the settings of other sections, on which an upstream depends, are unchanged. */
        private boolean sameAround(UpstreamConfig upstream) {
            boolean services =
                    upstream.endpoints().stream().anyMatch(ServerAddress.KubernetesService.class::isInstance);
            return before.limits().maxBodySize() == after.limits().maxBodySize()
                    && before.limits().maxManagementResponseSize()
                            == after.limits().maxManagementResponseSize()
                    && before.headers().returned().equals(after.headers().returned())
                    && (!services || before.kubernetes().equals(after.kubernetes()));
        }

        private void model(String name, ModelConfig old) {
            ModelConfig next = after.models().get(name);
            if (next == null) {
                return;
            }
            if (!old.rates().isEmpty()
                    && !next.rates().isEmpty()
                    && !old.rates().equals(next.rates())
                    && after.shared() == null) {
                effects.add("model '" + name + "': its rate limits begin anew");
            }
            RampConfig ramp = old.ramp();
            if (ramp != null) {
                ramp("model '" + name + "': ramp: ", ramp, old, next);
            }
        }

        private void ramp(String what, RampConfig ramp, ModelConfig old, ModelConfig next) {
            RampConfig nextRamp = next.ramp();
            if (nextRamp == null) {
                effects.add(what + "ends, also if it is rolled back; its target gets its configured weight");
            } else if (!target(old, ramp).equals(target(next, nextRamp))) {
                effects.add(
                        what + "begins again at " + Units.share(nextRamp.steps().getFirst())
                                + ", also if it is rolled back: its target is another one");
            } else if (!ramp.steps().equals(nextRamp.steps())) {
                effects.add(
                        what + "begins again at " + Units.share(nextRamp.steps().getFirst())
                                + ", unless it is rolled back or its share is one of the new steps: "
                                + nextRamp.steps().stream().map(Units::share).collect(Collectors.joining(", ")));
            }
        }

        /** The target of a ramp, whose progress does not depend on the configured name and weight. */
        private static Optional<TargetConfig> target(ModelConfig model, RampConfig ramp) {
            return model.allTargets().stream()
                    .filter(each -> each.label().equals(ramp.target()))
                    .map(each -> DefaultValues.with(each, "name", each.label(), "weight", 1))
                    .findFirst();
        }
    }
}
