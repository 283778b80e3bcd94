@NullMarked
package dev.isthmus.gateway.shadow;

import org.jspecify.annotations.NullMarked;
