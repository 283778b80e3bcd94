package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.upstream.SilentUpstream;

/** An upstream that nothing is sent to; equal to others of its name. */
record NamedUpstream(String name) implements SilentUpstream {}
