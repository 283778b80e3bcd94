@NullMarked
package dev.isthmus.gateway.hedge;

import org.jspecify.annotations.NullMarked;
