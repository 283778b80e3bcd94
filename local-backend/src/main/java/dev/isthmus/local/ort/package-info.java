/** All that touches ONNX Runtime and DJL: models, their runs and their types. */
@NullMarked
package dev.isthmus.local.ort;

import org.jspecify.annotations.NullMarked;
