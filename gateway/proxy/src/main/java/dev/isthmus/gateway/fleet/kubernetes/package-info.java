/**
 * The ready endpoints of Services of Kubernetes, from its API server: a list, then a watch. Blocks on threads of its
 * own, and reports on the event loop. Does not choose among servers. Its classes, and the JDK's HTTP client, are loaded
 * only if an endpoint names a Service.
 */
@NullMarked
package dev.isthmus.gateway.fleet.kubernetes;

import org.jspecify.annotations.NullMarked;
