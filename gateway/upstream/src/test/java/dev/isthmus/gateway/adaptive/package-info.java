@NullMarked
package dev.isthmus.gateway.adaptive;

import org.jspecify.annotations.NullMarked;
