@NullMarked
package dev.isthmus.gateway.fleet;

import org.jspecify.annotations.NullMarked;
