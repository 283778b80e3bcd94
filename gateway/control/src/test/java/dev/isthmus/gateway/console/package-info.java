@NullMarked
package dev.isthmus.gateway.console;

import org.jspecify.annotations.NullMarked;
