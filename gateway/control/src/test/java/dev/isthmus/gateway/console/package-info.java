/** Tests of the console's files, over the port of an admin listener. */
@NullMarked
package dev.isthmus.gateway.console;

import org.jspecify.annotations.NullMarked;
