/**
 * From a call to its reply: selects the target, transcodes, calls the upstream. No channel types.
 *
 * <p>{@code ProxyStack} is the list of layers with {@code Dispatcher} behind it. Every kind of inference has a {@code
 * RoutedCall} in its exchange, which alone chooses targets. {@code AddedLayers} are those of jars.
 */
@NullMarked
package dev.isthmus.gateway.dispatch;

import org.jspecify.annotations.NullMarked;
