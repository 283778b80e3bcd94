/**
 * The local backend, measured beside ONNX Runtime in Python of the same version, in turns, and beside MLServer over the
 * network. What the figures mean is in docs/explanation/local-backend.md. The one place beside the local backend itself that calls
 * ONNX
 * Runtime: as the yardstick.
 */
@NullMarked
package dev.isthmus.bench.local;

import org.jspecify.annotations.NullMarked;
