/**
 * Values of the Open Inference Protocol: datatypes, tensors, requests, answers, errors. No wire format, no channel, no
 * thread: how a value looks on a wire is the business of {@code dev.isthmus.transcoder}.
 */
@NullMarked
package dev.isthmus.oip;

import org.jspecify.annotations.NullMarked;
