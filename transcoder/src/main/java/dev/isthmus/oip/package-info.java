/**
 * Values of the Open Inference Protocol: datatypes, tensors, requests, responses, errors. No wire formats, channels or
 * threads; {@code dev.isthmus.transcoder} encodes and decodes these values.
 */
@NullMarked
package dev.isthmus.oip;

import org.jspecify.annotations.NullMarked;
