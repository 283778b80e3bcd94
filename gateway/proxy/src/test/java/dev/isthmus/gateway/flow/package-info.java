/** Complete calls: the data plane between real clients and scripted servers. */
@NullMarked
package dev.isthmus.gateway.flow;

import org.jspecify.annotations.NullMarked;
