package dev.isthmus.oip;

import java.util.List;

/** What a server says of itself. */
public record ServerMetadata(String name, String version, List<String> extensions) {

    public ServerMetadata {
        extensions = List.copyOf(extensions);
    }
}
