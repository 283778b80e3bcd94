/**
 * Runs ONNX models in this process: DJL's ONNX Runtime engine for the models' life cycle, ONNX Runtime's own API for the
 * runs. Takes and gives decoded messages; knows no wire. No type of DJL or ONNX Runtime is seen outside.
 */
@NullMarked
package dev.isthmus.local;

import org.jspecify.annotations.NullMarked;
