/** Test support shared by all modules. */
@NullMarked
package dev.isthmus.testing;

import org.jspecify.annotations.NullMarked;
