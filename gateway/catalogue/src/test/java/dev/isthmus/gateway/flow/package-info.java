/** Complete calls: a data plane with a control plane between real clients and scripted servers. */
@NullMarked
package dev.isthmus.gateway.flow;

import org.jspecify.annotations.NullMarked;
