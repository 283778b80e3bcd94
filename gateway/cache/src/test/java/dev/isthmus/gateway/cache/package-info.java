@NullMarked
package dev.isthmus.gateway.cache;

import org.jspecify.annotations.NullMarked;
