/**
 * Values of the Open Inference Protocol: datatypes, tensors, requests, responses, errors. No wire formats, channels or
 * threads; {@code dev.isthmus.transcoder} encodes and decodes these values.
 *
 * <p>A {@code Tensor} always holds the raw form: little-endian, without padding, BYTES elements with a prefix of 4
 * bytes. Every wire format is read into it and written from it. {@code ErrorCode} is the only table of HTTP and gRPC
 * statuses, {@code OipException} the only exception for failures.
 */
@NullMarked
package dev.isthmus.oip;

import org.jspecify.annotations.NullMarked;
