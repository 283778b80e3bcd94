/**
 * Inference messages and {@link dev.isthmus.transcoder.Transcoder}, the entry point that converts them between wires.
 * No channels, gRPC or threads.
 *
 * <p>An {@code InferMessage} is a REST body, protobuf, or decoded. {@code Transcoder} leaves it as it is if both sides
 * use the same wire, and converts it once otherwise; {@code ModelSplice} replaces the model's name in an encoded one;
 * {@code retained()} shares it with another attempt. None of them copies tensors.
 */
@NullMarked
package dev.isthmus.transcoder;

import org.jspecify.annotations.NullMarked;
