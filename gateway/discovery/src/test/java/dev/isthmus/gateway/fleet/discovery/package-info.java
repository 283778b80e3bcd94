/** Tests of DNS and metrics discovery. */
@NullMarked
package dev.isthmus.gateway.fleet.discovery;

import org.jspecify.annotations.NullMarked;
