/**
 * The protobuf wire: encodes and decodes ModelInferRequest and ModelInferResponse, with raw tensors as slices of the
 * message. gRPC framing is done elsewhere.
 */
@NullMarked
package dev.isthmus.transcoder.protobuf;

import org.jspecify.annotations.NullMarked;
