/**
 * The servers of each upstream as one: which of them takes a call, what is tried again, who is left out. No wires here.
 */
@NullMarked
package dev.isthmus.gateway.fleet;

import org.jspecify.annotations.NullMarked;
