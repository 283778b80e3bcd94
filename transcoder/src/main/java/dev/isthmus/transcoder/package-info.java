/**
 * An inference message as it stands on a wire, and {@link dev.isthmus.transcoder.Transcoder}, the one entry point that
 * turns it into another wire's form. Pure: no channel, no gRPC, no thread.
 */
@NullMarked
package dev.isthmus.transcoder;

import org.jspecify.annotations.NullMarked;
