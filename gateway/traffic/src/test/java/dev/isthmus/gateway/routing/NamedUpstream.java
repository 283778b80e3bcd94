package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.upstream.SilentUpstream;

/** An upstream without servers; equal to others of its name. */
record NamedUpstream(String name) implements SilentUpstream {}
