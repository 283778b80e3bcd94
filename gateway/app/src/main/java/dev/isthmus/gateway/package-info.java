/** Wires the gateway's parts by constructors, and starts and stops them. */
@NullMarked
package dev.isthmus.gateway;

import org.jspecify.annotations.NullMarked;
