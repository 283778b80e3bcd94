/** What tests of every module share. */
@NullMarked
package dev.isthmus.testing;

import org.jspecify.annotations.NullMarked;
