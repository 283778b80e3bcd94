package dev.isthmus.oip;

import java.util.List;

/** A server's metadata. */
public record ServerMetadata(String name, String version, List<String> extensions) {

    public ServerMetadata {
        extensions = List.copyOf(extensions);
    }
}
