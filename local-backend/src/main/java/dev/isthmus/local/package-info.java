/**
 * Runs ONNX models in this process. {@code LocalBackend} is the only door, {@code call} what it and its callers say to each
 * other: what is loaded is decided here, models are found in
 * {@code repository}, opened and run in {@code ort}, on the threads of {@code run}. Takes and gives decoded messages; knows no
 * wire. No type of DJL or ONNX Runtime is seen outside.
 */
@NullMarked
package dev.isthmus.local;

import org.jspecify.annotations.NullMarked;
