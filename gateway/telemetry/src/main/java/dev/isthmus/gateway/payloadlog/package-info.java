/**
 * The payload log: requests and responses of inferences as CloudEvents, to an HTTP sink or a file. Must never delay or
 * fail a call. No channel types.
 *
 * <p>{@code ReloadablePayloadLog} is a layer behind authorization, which sees the client's body and response part by
 * part. {@code PayloadBuffer} keeps what passes, up to a size and a limit for all; a thread of its own encodes it
 * ({@code PayloadEncoder}) for an {@code EventSink}.
 */
@NullMarked
package dev.isthmus.gateway.payloadlog;

import org.jspecify.annotations.NullMarked;
