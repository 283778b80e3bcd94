/** The threads that run models, and the queue before them. */
@NullMarked
package dev.isthmus.local.run;

import org.jspecify.annotations.NullMarked;
