/**
 * What all encodings share: the wires, the dialects and features of servers, the limits of messages, and the checks for
 * tensors.
 */
@NullMarked
package dev.isthmus.transcoder.message;

import org.jspecify.annotations.NullMarked;
