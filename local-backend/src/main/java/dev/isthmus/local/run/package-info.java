/**
 * Schedules the runs of models: the bounded queue and its shares, worker threads, permits of models, deadlines,
 * cancellation and batches. {@code ort} does the runs; no type of ONNX Runtime is used here.
 */
@NullMarked
package dev.isthmus.local.run;

import org.jspecify.annotations.NullMarked;
