/**
 * What the gateway counts and times of itself: the registry, the calls, the reloads. Labels come from the configuration and
 * from fixed sets, never from a client's text. What a component alone knows, it registers itself.
 */
@NullMarked
package dev.isthmus.gateway.metrics;

import org.jspecify.annotations.NullMarked;
