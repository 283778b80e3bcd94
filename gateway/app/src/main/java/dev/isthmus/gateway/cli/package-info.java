/** The command {@code isthmus}. */
@NullMarked
package dev.isthmus.gateway.cli;

import org.jspecify.annotations.NullMarked;
