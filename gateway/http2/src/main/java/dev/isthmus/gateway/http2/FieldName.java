package dev.isthmus.gateway.http2;

import io.netty.util.AsciiString;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The name of a header field to send, checked.
 *
 * @param staticIndex index of the name in the static table, 0 if absent
 */
record FieldName(AsciiString text, int staticIndex) {
    /** Names that many messages have with values of their own, and that are not in the static table. */
    private static final Map<String, FieldName> FREQUENT = Arrays.stream(
                    new String[] {"x-request-id", "traceparent", "tracestate", "baggage"})
            .collect(Collectors.toUnmodifiableMap(Function.identity(), FieldName::checked));

    /** @throws IllegalArgumentException for an empty name, or one with an illegal character */
    static FieldName of(CharSequence name) {
        FieldName frequent = name instanceof String text ? FREQUENT.get(text) : null;
        return frequent == null ? checked(name) : frequent;
    }

    private static FieldName checked(CharSequence name) {
        AsciiString text = AsciiString.of(name);
        check(text);
        return new FieldName(text, StaticTable.indexOf(text));
    }

    /** Upper-case letters make a message malformed (RFC 9113, 8.2). */
    private static void check(AsciiString name) {
        if (name.isEmpty()) {
            throw new IllegalArgumentException("a header field name must not be empty");
        }
        for (int i = 0; i < name.length(); i++) {
            byte b = name.byteAt(i);
            if (b <= ' ' || b == 0x7f || (b >= 'A' && b <= 'Z') || (b == ':' && i > 0)) {
                throw new IllegalArgumentException("header field name '" + name + "' has an illegal character");
            }
        }
    }
}
