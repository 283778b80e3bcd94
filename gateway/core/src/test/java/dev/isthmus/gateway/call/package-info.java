@NullMarked
package dev.isthmus.gateway.call;

import org.jspecify.annotations.NullMarked;
