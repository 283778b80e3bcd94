package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.AccessConfig.AccessRule;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Checks who can reach the gateway, how callers are identified, and what they may do. */
final class AccessChecks {
    private final SectionChecks sections;
    private final GatewayConfig config;

    AccessChecks(SectionChecks sections, GatewayConfig config) {
        this.sections = sections;
        this.config = config;
    }

    void run() {
        config.listeners().stream().filter(each -> sections.of(each).valid()).forEach(this::listener);
        AuthenticationConfig authentication = config.authentication();
        if (authentication != null) {
            authentication(authentication);
        }
        if (config.access() != null) {
            rules(config.access());
        }
    }

    private void listener(Listener listener) {
        SectionCheck check = sections.of(listener);
        String exposed = ListenerExposure.problem(listener, config.authentication());
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
}
