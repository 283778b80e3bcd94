package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.AccessConfig.AccessRule;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.settings.SectionCheck.SectionChecks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Checks of what sections have to do with each other, after each has {@linkplain CheckedSection checked itself}. Problems
 * that only follow from an unreadable part are not reported.
 */
final class ConfigChecks {
    private final YamlReader yaml;
    private final SectionChecks sections;
    private final GatewayConfig config;
    private final Set<String> upstreams;

    ConfigChecks(YamlReader yaml, SectionPositions positions, GatewayConfig config) {
        this.yaml = yaml;
        this.config = config;
        sections = new SectionChecks(yaml, positions);
        upstreams = new TreeSet<>(config.upstreams().keySet());
        if (config.local() != null) {
            upstreams.add(GatewayConfig.LOCAL);
        }
    }

    void run() {
        sections.run(config, "");
        listeners();
        config.listeners().stream().filter(each -> sections.of(each).valid()).forEach(this::access);
        if (config.authentication() != null) {
            authentication(config.authentication());
        }
        if (config.access() != null) {
            rules(config.access());
        }
        UpstreamConfig reserved = config.upstreams().get(GatewayConfig.LOCAL);
        if (reserved != null) {
            sections.of(reserved).problem("the name is reserved for the local backend");
        }
        new TreeMap<>(config.models()).forEach(this::model);
        aliases();
        reference(sections.of(config), "default_upstream", config.defaultUpstream());
        anythingToServe();
    }

    private void model(String name, ModelConfig model) {
        if (!NameGrammar.holds(name)) {
            // Its position is found by a linear search.
            sections.of(config).problemAtName("models", name, NameGrammar.broken("model name", name));
        }
        reference(sections.of(model), "upstream", model.upstream());
        model.targets().forEach(each -> reference(sections.of(each), "upstream", each.upstream()));
        model.shadow().forEach(each -> reference(sections.of(each), "upstream", each.upstream()));
        if (model.fallback() != null) {
            reference(
                    sections.of(model.fallback()), "upstream", model.fallback().upstream());
        }
        if (model.batching() != null) {
            batching(model, model.batching());
        }
        CacheConfig cache = model.cache();
        if (cache != null
                && cache.caller()
                && config.authentication() == null
                && sections.of(config).readable("authentication")) {
            sections.of(cache)
                    .problem("caller", "requires a section 'authentication', since otherwise no caller is known");
        }
    }

    /** Checks that an upstream of this name exists. */
    private void reference(SectionCheck check, String key, @Nullable String name) {
        if (name == null
                || name.isEmpty()
                || upstreams.contains(name)
                || !sections.of(config).readable("upstreams")
                || misspelled(name)) {
            return;
        }
        String hint =
                name.equals(GatewayConfig.LOCAL) ? "; it needs a section 'local'" : yaml.suggestion(name, upstreams);
        check.problem(key, "no upstream is named '" + name + "'" + hint);
    }

    /** Whether an unknown key may have been meant as the section that this upstream would be in. */
    private boolean misspelled(String name) {
        boolean absent = name.equals(GatewayConfig.LOCAL)
                ? config.local() == null
                : config.upstreams().isEmpty();
        return absent && !sections.of(config).valid(new String[0]);
    }

    private void aliases() {
        Map<String, String> owners = new HashMap<>();
        new TreeMap<>(config.models()).forEach((name, model) -> {
            List<String> aliases = model.aliases();
            for (int i = 0; i < aliases.size(); i++) {
                String problem = alias(name, aliases.get(i), owners);
                if (problem != null) {
                    sections.of(model).problemAtItem("aliases", i, aliases.size(), problem);
                }
            }
        });
    }

    private @Nullable String alias(String name, String alias, Map<String, String> owners) {
        String owner = owners.putIfAbsent(alias, name);
        if (ModelPattern.is(name)) {
            return "alias: a pattern cannot have aliases";
        }
        if (ModelPattern.is(alias)) {
            return "alias: a name without * is expected, got '" + alias + "'";
        }
        if (!NameGrammar.holds(alias)) {
            return NameGrammar.broken("alias", alias);
        }
        if (config.models().containsKey(alias)) {
            return "alias: '" + alias + "' is a model";
        }
        return owner == null ? null : "alias: '" + alias + "' is already an alias of model '" + owner + "'";
    }

    private void anythingToServe() {
        SectionCheck check = sections.of(config);
        if (!check.valid() || !config.discover().kserve().isEmpty()) {
            return;
        }
        if (upstreams.isEmpty()) {
            check.problem("nothing to serve: 'upstreams', 'local' or 'discover' is expected");
        } else if (config.models().isEmpty()
                && config.defaultUpstream() == null
                && config.upstreams().values().stream().noneMatch(UpstreamConfig::discover)) {
            check.problem(
                    "nothing to serve: 'models' or 'default_upstream', or 'discover: true' of an upstream is expected");
        }
    }

    private void listeners() {
        List<Listener> addresses = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (Listener each : config.listeners()) {
            SectionCheck check = sections.of(each).named("listener");
            if (!check.valid("host", "port", "name")) {
                continue;
            }
            if (each.port() != 0 && addresses.stream().anyMatch(each::sameAddress)) {
                check.problem(each.host() + ":" + each.port() + " is given twice");
            } else if (each.name() != null && !names.add(each.name())) {
                check.problemAt("name", "the name '" + each.name() + "' is given twice");
            }
            addresses.add(each);
        }
        AdminConfig admin = config.admin();
        if (admin != null
                && sections.of(admin).valid("host", "port")
                && admin.port() != 0
                && addresses.stream().anyMatch(Listener.DEFAULT.at(admin.host(), admin.port())::sameAddress)) {
            sections.of(admin).problem(admin.host() + ":" + admin.port() + " is a listener already");
        }
    }

    private void access(Listener listener) {
        SectionCheck check = sections.of(listener);
        String exposed = listener.exposure(config.authentication());
        if (exposed != null && sections.of(config).readable("authentication")) {
            check.problemAt("host", exposed);
        }
        if (config.access() != null && listener.management() == ManagementAccess.ALLOW) {
            check.problem(
                    "management",
                    "with 'access' its rules decide: name load, trace, log or shared_memory in the 'may' of a rule");
        }
    }

    private void authentication(AuthenticationConfig authentication) {
        if (sections.of(authentication).valid("forward")) {
            forgedHeaders(authentication.forward().principalHeader());
        }
        AuthenticationConfig.ApiKeyConfig keys = authentication.apiKeys();
        AccessLogConfig log = config.accessLog();
        if (keys != null
                && log != null
                && sections.of(keys).valid()
                && log.headers().contains(keys.header())
                && !AccessLogConfig.CREDENTIALS.contains(keys.header())) {
            sections.of(log).problem("headers", "'" + keys.header() + "' has API keys, which are not logged");
        }
    }

    /** A header that is removed from requests says nothing of the caller. */
    private void forgedHeaders(String header) {
        config.models().forEach((name, model) -> {
            SectionCheck check = sections.of(model);
            model.rules().stream()
                    .filter(rule -> rule.headers().containsKey(header))
                    .forEach(rule -> forged(check.at(rule), header));
            model.rates().stream()
                    .filter(rate -> header.equals(rate.header()))
                    .forEach(rate -> forged(check.at(rate), header));
            if (model.sticky() != null && header.equals(model.sticky().header())) {
                forged(check.at(model.sticky()), header);
            }
        });
    }

    private static void forged(SectionCheck check, String header) {
        check.problem("header '" + header + "' is set by the gateway; clients can send any value in it");
    }

    private void rules(AccessConfig access) {
        Set<String> names = new HashSet<>();
        Set<String> listeners = new TreeSet<>();
        config.listeners().forEach(each -> listeners.add(each.label()));
        List<AccessRule> rules = access.rules();
        for (AccessRule rule : rules) {
            SectionCheck check = sections.of(rule);
            if (!check.valid()) {
                continue;
            }
            if (!names.add(rule.name())) {
                check.problemAt("name", "the name is given twice");
            }
            if (rule.who().needIdentity() && config.authentication() == null) {
                check.problem("who", "without 'authentication' no caller has a name, groups, claims or a certificate");
            }
            for (String listener : rule.who().listeners()) {
                if (!listeners.contains(listener)) {
                    sections.of(rule.who())
                            .problem(
                                    "listeners",
                                    "no listener is '" + listener + "'" + NearestName.suggestion(listener, listeners));
                }
            }
        }
    }

    private void batching(ModelConfig model, BatchingConfig batching) {
        SectionCheck check = sections.of(batching);
        List<TargetConfig> targets = model.allTargets();
        if (!targets.isEmpty()
                && targets.stream().allMatch(each -> each.upstream().equals(GatewayConfig.LOCAL))) {
            check.problem("a target other than '" + GatewayConfig.LOCAL
                    + "' is expected: the local backend joins requests itself (dynamic_batching)");
        }
        if (check.valid("max_queue_delay_microseconds") && sections.of(model).valid("timeout")) {
            delay(check, batching, "timeout of the model", model.timeout());
            for (TargetConfig target : targets) {
                UpstreamConfig upstream = config.upstreams().get(target.upstream());
                delay(
                        check,
                        batching,
                        "timeout of upstream '" + target.upstream() + "'",
                        upstream == null || !sections.of(upstream).valid("timeout") ? null : upstream.timeout());
            }
        }
        if (check.valid("max_bytes")) {
            check.expect(
                    batching.maxBytes() <= config.limits().maxBodySize(),
                    "max_bytes",
                    "at most limits.max_body_size, " + config.limits().maxBodySize() + " bytes, is expected",
                    batching.maxBytes());
        }
    }

    private static void delay(SectionCheck check, BatchingConfig batching, String limit, @Nullable Duration timeout) {
        check.expect(
                timeout == null || batching.maxQueueDelay().compareTo(timeout) < 0,
                "max_queue_delay_microseconds",
                "less than the " + limit + (timeout == null ? "" : ", " + Units.written(timeout)) + ", is expected",
                batching.maxQueueDelayMicroseconds());
    }
}
