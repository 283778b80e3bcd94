@NullMarked
package dev.isthmus.gateway.identity;

import org.jspecify.annotations.NullMarked;
