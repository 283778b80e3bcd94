@NullMarked
package dev.isthmus.bench;

import org.jspecify.annotations.NullMarked;
