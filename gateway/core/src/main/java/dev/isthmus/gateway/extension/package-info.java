/**
 * The management extensions of the protocol (Triton's protocol documents): one descriptor per operation, read by
 * everything that handles it. Values only: nothing here sends a request.
 */
@NullMarked
package dev.isthmus.gateway.extension;

import org.jspecify.annotations.NullMarked;
