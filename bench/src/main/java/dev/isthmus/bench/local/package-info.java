/**
 * Comparison of the local backend with ONNX Runtime of the same version in Python. The figures are explained in
 * bench/NOTES.md. Besides the local backend, only this package calls ONNX Runtime, as the baseline.
 */
@NullMarked
package dev.isthmus.bench.local;

import org.jspecify.annotations.NullMarked;
