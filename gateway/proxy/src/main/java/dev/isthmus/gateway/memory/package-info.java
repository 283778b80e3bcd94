/** What calls hold of memory outside the heap, and whether there is any. */
@NullMarked
package dev.isthmus.gateway.memory;

import org.jspecify.annotations.NullMarked;
