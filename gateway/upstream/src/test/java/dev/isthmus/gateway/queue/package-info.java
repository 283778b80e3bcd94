@NullMarked
package dev.isthmus.gateway.queue;

import org.jspecify.annotations.NullMarked;
