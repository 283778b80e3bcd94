/** Everything that touches ONNX Runtime and DJL. */
@NullMarked
package dev.isthmus.local.ort;

import org.jspecify.annotations.NullMarked;
