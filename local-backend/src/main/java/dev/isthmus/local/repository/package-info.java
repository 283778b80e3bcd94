/** Finds models and reads their configuration. Does not use ONNX Runtime. */
@NullMarked
package dev.isthmus.local.repository;

import org.jspecify.annotations.NullMarked;
