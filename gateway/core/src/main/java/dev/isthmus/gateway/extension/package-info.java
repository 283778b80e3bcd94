/**
 * The management extensions of the protocol (Triton's protocol documents): one descriptor per operation, read by
 * everything that handles it. Values only: nothing here sends a request.
 *
 * <p>{@code Extension} has names, paths, methods, messages, their JSON form, the servers to call ({@code FanOut}), and
 * whether a request may be repeated.
 */
@NullMarked
package dev.isthmus.gateway.extension;

import org.jspecify.annotations.NullMarked;
