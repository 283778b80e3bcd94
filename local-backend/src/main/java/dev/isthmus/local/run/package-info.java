/**
 * When and where models run: the bounded queue and its shares, the worker threads, permits of models, deadlines,
 * cancellation, batches. What a run is, is the business of {@code ort}; nothing of ONNX Runtime is seen here.
 */
@NullMarked
package dev.isthmus.local.run;

import org.jspecify.annotations.NullMarked;
