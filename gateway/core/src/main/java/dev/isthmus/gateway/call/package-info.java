/**
 * The interface between ingress, dispatch and upstreams: an operation, its call, its reply. No channel types.
 *
 * <p>A request's body arrives at a {@code RequestSink} in parts, and the {@code Reply} may fail before it has ended; a
 * unary call is a stream of one message. {@code OperationKind} has what holds for every operation of a kind. {@code
 * Exchange} takes a call through the {@code Layers} to what is behind them. {@code CallContext} is what is known of a
 * call, {@code Slot} the place where one layer keeps what it knows of it.
 */
@NullMarked
package dev.isthmus.gateway.call;

import org.jspecify.annotations.NullMarked;
