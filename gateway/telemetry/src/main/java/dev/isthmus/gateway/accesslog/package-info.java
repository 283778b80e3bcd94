/**
 * The access log: a line of JSON for each call.
 *
 * <p>{@code AccessLog} writes a line into a buffer of the call's event loop ({@code LineWriter}); a thread of its own
 * writes the buffers to a {@code LogOutput}.
 */
@NullMarked
package dev.isthmus.gateway.accesslog;

import org.jspecify.annotations.NullMarked;
