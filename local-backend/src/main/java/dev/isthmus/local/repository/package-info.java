/** Where models are and what they are configured with. Knows nothing of ONNX Runtime. */
@NullMarked
package dev.isthmus.local.repository;

import org.jspecify.annotations.NullMarked;
