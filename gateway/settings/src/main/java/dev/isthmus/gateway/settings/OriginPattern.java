package dev.isthmus.gateway.settings;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Origins of web pages, as browsers write them (RFC 6454, 6.2): one, those of all hosts below a name, or all. */
public final class OriginPattern {
    /** What {@link #parse} expects. */
    static final String GRAMMAR =
            "\\*|[a-z][a-z0-9+.-]*://(\\[[0-9a-f:.]+]|(\\*\\.)?[0-9a-z_]([0-9a-z_.-]*[0-9a-z_])?)(:([0-9]{1,5}|\\*))?";

    private static final Pattern PARTS = Pattern.compile("([^:]+://)(\\*)?([^*]*?)(:([0-9]+|\\*))?");
    private static final Pattern ALL = Pattern.compile(".*");

    private final String text;
    private final Pattern pattern;

    private OriginPattern(String text, Pattern pattern) {
        this.text = text;
        this.pattern = pattern;
    }

    /**
     * Parses {@code https://app.example.com}, {@code https://*.example.com}, {@code http://localhost:*} or {@code *}.
     *
     * @return null for anything else, also for a port that browsers leave out
     */
    public static @Nullable OriginPattern parse(String text) {
        if (!text.matches(GRAMMAR)) {
            return null;
        }
        Matcher parts = PARTS.matcher(text);
        if (!parts.matches()) {
            return new OriginPattern(text, ALL);
        }
        String scheme = parts.group(1);
        String port = parts.group(5);
        if ((scheme.equals("https://") && "443".equals(port)) || (scheme.equals("http://") && "80".equals(port))) {
            return null;
        }
        String host = (parts.group(2) == null ? "" : "[0-9a-z_.-]+") + Pattern.quote(parts.group(3));
        String anyPort = "*".equals(port) ? "(:[0-9]{1,5})?" : "";
        String onePort = port == null || port.equals("*") ? "" : ":" + port;
        return new OriginPattern(text, Pattern.compile(Pattern.quote(scheme) + host + onePort + anyPort));
    }

    /** Whether it stands for all origins. */
    public boolean isAll() {
        return pattern == ALL;
    }

    /** Whether it matches the value of an {@code Origin} header. */
    public boolean matches(String origin) {
        return pattern.matcher(origin).matches();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof OriginPattern origin && text.equals(origin.text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    @Override
    public String toString() {
        return text;
    }
}
