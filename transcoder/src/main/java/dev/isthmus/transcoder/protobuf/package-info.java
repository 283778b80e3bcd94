/**
 * The protobuf wire: ModelInferRequest and ModelInferResponse over ByteBuf, with raw tensors as slices of the message.
 * Nothing here knows gRPC's framing.
 */
@NullMarked
package dev.isthmus.transcoder.protobuf;

import org.jspecify.annotations.NullMarked;
