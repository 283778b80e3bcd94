/**
 * Runs ONNX models in this process. {@code LocalBackend} is the entry point, {@code call} has the interfaces for its
 * callers. This package decides what is loaded; {@code repository} finds models, {@code ort} opens and runs them on the
 * threads of {@code run}. Requests and responses are decoded messages. No type of DJL or ONNX Runtime is exposed.
 *
 * <p>{@code LoadedModels} is an immutable map behind one volatile field. The last user of a replaced version closes
 * it.
 */
@NullMarked
package dev.isthmus.local;

import org.jspecify.annotations.NullMarked;
