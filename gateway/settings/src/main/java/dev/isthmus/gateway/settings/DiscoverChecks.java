package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.DiscoverConfig.KServeConfig;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Checks the section on discovery. */
final class DiscoverChecks {
    private static final String LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
    private static final String SELECTOR = "[A-Za-z0-9_./!=, ()-]+";

    private final ConfigChecks checks;
    private final YamlReader yaml;
    private final SectionPositions positions;

    DiscoverChecks(ConfigChecks checks, YamlReader yaml, SectionPositions positions) {
        this.checks = checks;
        this.yaml = yaml;
        this.positions = positions;
    }

    void run(DiscoverConfig discover) {
        Set<List<String>> seen = new HashSet<>();
        for (KServeConfig each : discover.kserve()) {
            if (checks.valid(each, "namespace", "selector", "port")) {
                names(each);
                if (!seen.add(List.of(each.namespace(), each.selector() == null ? "" : each.selector()))) {
                    yaml.problem(
                            positions.of(each),
                            "discover: kserve: namespace '" + each.namespace() + "' is given twice with this selector");
                }
            }
        }
    }

    private void names(KServeConfig kserve) {
        if (!kserve.namespace().matches(LABEL)) {
            yaml.problem(
                    positions.of(kserve, "namespace"),
                    "discover: kserve: namespace: the name of a namespace is expected, got '" + kserve.namespace()
                            + "'");
        }
        String selector = kserve.selector();
        if (selector != null && !selector.matches(SELECTOR)) {
            yaml.problem(
                    positions.of(kserve, "selector"),
                    "discover: kserve: selector: a label selector such as team=vision is expected, got '" + selector
                            + "'");
        }
        String port = kserve.port();
        if (port != null && !port.matches(LABEL)) {
            yaml.problem(
                    positions.of(kserve, "port"),
                    "discover: kserve: port: the name of a port is expected, got '" + port + "'");
        }
    }
}
