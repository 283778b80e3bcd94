/**
 * What the network tells of servers: the addresses of their names, and the metrics that they publish. All of it on event
 * loops; nothing of the choice among servers.
 */
@NullMarked
package dev.isthmus.gateway.fleet.discovery;

import org.jspecify.annotations.NullMarked;
