package dev.isthmus.gateway.cli;

import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Completes configuration fragments of the documentation. */
final class ConfigFragment {
    private static final Pattern UPSTREAMS = Pattern.compile("(?m)^upstreams:");
    private static final Pattern LOCAL = Pattern.compile("(?m)^local:");
    private static final Pattern NAMED = Pattern.compile("\\b(?:upstream|default_upstream): ?\"?([\\w-]+)");

    private ConfigFragment() {}

    /** The fragment with the upstreams that it refers to but does not define, and with something to serve. */
    static String completed(String text) {
        StringBuilder all = new StringBuilder(text);
        Set<String> named = new LinkedHashSet<>();
        Matcher names = NAMED.matcher(text);
        while (names.find()) {
            named.add(names.group(1));
        }
        boolean local = named.remove("local");
        if (!UPSTREAMS.matcher(text).find() && !named.isEmpty()) {
            all.append("\nupstreams:\n");
            named.forEach(
                    name -> all.append("  ").append(name).append(": {protocol: grpc, endpoints: [\"127.0.0.1:1\"]}\n"));
        }
        if (!LOCAL.matcher(text).find() && (local || !UPSTREAMS.matcher(all).find())) {
            all.append("\nlocal: {embedded_models: true}\n");
        }
        return all.toString();
    }
}
