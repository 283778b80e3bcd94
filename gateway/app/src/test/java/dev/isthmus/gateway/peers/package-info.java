@NullMarked
package dev.isthmus.gateway.peers;

import org.jspecify.annotations.NullMarked;
