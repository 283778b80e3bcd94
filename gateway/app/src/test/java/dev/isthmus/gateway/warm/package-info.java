@NullMarked
package dev.isthmus.gateway.warm;

import org.jspecify.annotations.NullMarked;
