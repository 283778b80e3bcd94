/**
 * Everything that touches ONNX Runtime: its start, its types, sessions and the devices they run on. Knows no files and no
 * threads of its own.
 */
@NullMarked
package dev.isthmus.local.ort;

import org.jspecify.annotations.NullMarked;
