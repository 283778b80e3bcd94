/**
 * The gateways of a deployment beside each other: what this one says of itself, what the others say, and the differences.
 * Nothing of it changes another gateway, and calls know nothing of it. Without {@code admin.peers} it does nothing.
 */
@NullMarked
package dev.isthmus.gateway.peers;

import org.jspecify.annotations.NullMarked;
