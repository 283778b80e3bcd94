@NullMarked
package dev.isthmus.gateway.access;

import org.jspecify.annotations.NullMarked;
