package dev.isthmus.gateway.ingress;

import java.util.LinkedHashMap;
import java.util.Map;

/** Header fields that a response will have, collected until its head is written. */
final class ReturnedFields {
    private ReturnedFields() {}

    /** The fields with more of them, which replace those of the same name; both stay as they are. */
    static Map<String, String> merged(Map<String, String> fields, Map<String, String> more) {
        if (fields.isEmpty()) {
            return more;
        }
        Map<String, String> all = new LinkedHashMap<>(fields);
        all.putAll(more);
        return all;
    }
}
