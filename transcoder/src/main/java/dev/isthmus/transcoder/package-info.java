/**
 * Inference messages and {@link dev.isthmus.transcoder.Transcoder}, the entry point that converts them between wires.
 * No channels, gRPC or threads.
 */
@NullMarked
package dev.isthmus.transcoder;

import org.jspecify.annotations.NullMarked;
