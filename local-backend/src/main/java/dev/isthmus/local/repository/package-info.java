/** Where models are and what is configured of them: files in, values out. No ONNX Runtime here. */
@NullMarked
package dev.isthmus.local.repository;

import org.jspecify.annotations.NullMarked;
