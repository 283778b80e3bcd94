@NullMarked
package dev.isthmus.gateway.logging;

import org.jspecify.annotations.NullMarked;
