/** Tests of the page "Try it" without foreign programs. */
@NullMarked
package dev.isthmus.gateway.tryit;

import org.jspecify.annotations.NullMarked;
