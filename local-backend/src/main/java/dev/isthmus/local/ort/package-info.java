/**
 * All access to ONNX Runtime: its initialization, types, sessions and devices. Reads no files and has no threads of its
 * own.
 */
@NullMarked
package dev.isthmus.local.ort;

import org.jspecify.annotations.NullMarked;
