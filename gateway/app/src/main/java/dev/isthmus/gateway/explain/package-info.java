/** Explains from the configuration alone how a call would be routed. Values only: nothing here sends a request. */
@NullMarked
package dev.isthmus.gateway.explain;

import org.jspecify.annotations.NullMarked;
