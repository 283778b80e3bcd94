package dev.isthmus.gateway.tracing;

/** The grammar of {@code tracestate} (W3C Trace Context, 3.3). */
final class TraceStateGrammar {
    /** The header, in lower case. */
    static final String HEADER = "tracestate";

    private static final int MAX_MEMBERS = 32;
    private static final int MAX_LENGTH = 256;

    private TraceStateGrammar() {}

    /** Whether a value may be forwarded: a list of at most 32 members {@code key=value}, empty ones not counted. */
    static boolean valid(String list) {
        int members = 0;
        int from = 0;
        while (from <= list.length()) {
            int comma = list.indexOf(',', from);
            int to = comma < 0 ? list.length() : comma;
            String member = trimmed(list, from, to);
            if (!member.isEmpty() && (!member(member) || ++members > MAX_MEMBERS)) {
                return false;
            }
            from = to + 1;
        }
        return members > 0;
    }

    /** Without the spaces and tabs that may surround a member. */
    private static String trimmed(String list, int from, int to) {
        int start = from;
        int end = to;
        while (start < end && blank(list.charAt(start))) {
            start++;
        }
        while (end > start && blank(list.charAt(end - 1))) {
            end--;
        }
        return list.substring(start, end);
    }

    private static boolean blank(char c) {
        return c == ' ' || c == '\t';
    }

    private static boolean member(String member) {
        int equals = member.indexOf('=');
        return equals > 0 && key(member.substring(0, equals)) && value(member.substring(equals + 1));
    }

    private static boolean key(String key) {
        int at = key.indexOf('@');
        char first = key.charAt(0);
        if (at == 0 || at == key.length() - 1 || key.length() > MAX_LENGTH || !(lower(first) || digit(first))) {
            return false;
        }
        for (int i = 1; i < key.length(); i++) {
            char c = key.charAt(i);
            if (i != at && !lower(c) && !digit(c) && "_-*/".indexOf(c) < 0) {
                return false;
            }
        }
        return at < 0 || lower(key.charAt(at + 1));
    }

    private static boolean value(String value) {
        if (value.isEmpty() || value.length() > MAX_LENGTH) {
            return false;
        }
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c < ' ' || c > '~' || c == '=') {
                return false;
            }
        }
        return true;
    }

    private static boolean lower(char c) {
        return c >= 'a' && c <= 'z';
    }

    private static boolean digit(char c) {
        return c >= '0' && c <= '9';
    }
}
