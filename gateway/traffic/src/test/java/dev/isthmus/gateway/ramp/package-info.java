@NullMarked
package dev.isthmus.gateway.ramp;

import org.jspecify.annotations.NullMarked;
