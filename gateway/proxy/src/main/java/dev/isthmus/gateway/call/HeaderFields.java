package dev.isthmus.gateway.call;

import org.jspecify.annotations.Nullable;

/** The header fields of a client's request, those among them that go no further. */
@FunctionalInterface
public interface HeaderFields {

    /** No fields. */
    HeaderFields NONE = name -> null;

    /** The values of a field in one, commas between them; null where it is missing. The name is in lower case. */
    @Nullable
    String value(String name);
}
