/** Tests of what the network tells of servers. */
@NullMarked
package dev.isthmus.gateway.fleet.discovery;

import org.jspecify.annotations.NullMarked;
