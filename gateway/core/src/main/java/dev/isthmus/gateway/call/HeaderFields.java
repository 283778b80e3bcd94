package dev.isthmus.gateway.call;

import org.jspecify.annotations.Nullable;

/** The head of a client's request: HTTP header fields, which are also gRPC's metadata. */
@FunctionalInterface
public interface HeaderFields {

    HeaderFields NONE = name -> null;

    /** The values of a field, joined with commas; null if the field is missing. The name is in lower case. */
    @Nullable
    String value(String name);

    /** The method; empty if there is no request line. */
    default String method() {
        return "";
    }

    /** The path with its query; empty if there is no request line. */
    default String uri() {
        return "";
    }
}
