/**
 * Resources of Kubernetes, from its API server: a list, then a watch; and the ready endpoints of Services. Blocks on
 * threads of its own, and reports endpoints on the event loop. Does not choose among servers. Its classes, and the
 * JDK's HTTP client, are loaded only if the configuration names a Service or a namespace to watch.
 */
@NullMarked
package dev.isthmus.gateway.fleet.kubernetes;

import org.jspecify.annotations.NullMarked;
