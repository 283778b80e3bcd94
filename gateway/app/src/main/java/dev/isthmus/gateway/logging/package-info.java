/**
 * The log of the process: the form of its lines, what repeats, levels at run time. It is the only package, with the
 * warm-up's filter, that knows the log backend; all others log through SLF4J.
 */
@NullMarked
package dev.isthmus.gateway.logging;

import org.jspecify.annotations.NullMarked;
