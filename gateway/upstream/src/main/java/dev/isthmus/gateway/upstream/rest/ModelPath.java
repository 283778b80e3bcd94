package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.settings.NameGrammar;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.nio.charset.StandardCharsets;

/** Paths of the protocol, built from parsed names and never from a client's path. */
final class ModelPath {
    private static final String HEX = "0123456789ABCDEF";

    private ModelPath() {}

    /**
     * The path of a model or one of its versions.
     *
     * @throws OipException for a name that is not a valid path segment
     */
    static String of(ModelRef model) {
        StringBuilder path = new StringBuilder("/v2/models/");
        append(path, "model name", model.name());
        if (!model.version().isEmpty()) {
            append(path.append("/versions/"), "model version", model.version());
        }
        return path.toString();
    }

    /**
     * A name as one path segment.
     *
     * @throws OipException for a name that is not a valid path segment
     */
    static String segment(String what, String name) {
        StringBuilder path = new StringBuilder();
        append(path, what, name);
        return path.toString();
    }

    private static void append(StringBuilder path, String what, String segment) {
        NameGrammar.check(what, segment);
        for (byte octet : segment.getBytes(StandardCharsets.UTF_8)) {
            if (unreserved(octet)) {
                path.append((char) octet);
            } else {
                path.append('%').append(HEX.charAt((octet >> 4) & 15)).append(HEX.charAt(octet & 15));
            }
        }
    }

    /** RFC 3986, section 2.3. */
    private static boolean unreserved(byte octet) {
        return (octet >= 'a' && octet <= 'z')
                || (octet >= 'A' && octet <= 'Z')
                || (octet >= '0' && octet <= '9')
                || octet == '-'
                || octet == '.'
                || octet == '_'
                || octet == '~';
    }
}
