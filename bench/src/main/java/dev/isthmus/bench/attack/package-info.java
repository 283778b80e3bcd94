/**
 * What hostile clients do to a V2 endpoint, in a process of its own: prebuilt bytes on plain sockets, so that it costs little
 * CPU. Nothing here starts or measures a gateway.
 */
@NullMarked
package dev.isthmus.bench.attack;

import org.jspecify.annotations.NullMarked;
