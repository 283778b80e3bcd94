package dev.isthmus.gateway.call;

import org.jspecify.annotations.Nullable;

/** The head of a client's request: the fields of HTTP, which are gRPC's metadata too. */
@FunctionalInterface
public interface HeaderFields {

    /** No fields. */
    HeaderFields NONE = name -> null;

    /** The values of a field in one, commas between them; null where it is missing. The name is in lower case. */
    @Nullable
    String value(String name);

    /** The method; empty where there is no request line. */
    default String method() {
        return "";
    }

    /** The path with its query; empty where there is no request line. */
    default String uri() {
        return "";
    }
}
