@NullMarked
package dev.isthmus.gateway.limit;

import org.jspecify.annotations.NullMarked;
