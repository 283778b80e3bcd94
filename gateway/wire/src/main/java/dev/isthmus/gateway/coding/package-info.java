/**
 * The compressions of bodies and of gRPC messages, for both ends of the gateway. Knows buffers, but neither HTTP nor
 * connections.
 */
@NullMarked
package dev.isthmus.gateway.coding;

import org.jspecify.annotations.NullMarked;
