@NullMarked
package dev.isthmus.local.run;

import org.jspecify.annotations.NullMarked;
