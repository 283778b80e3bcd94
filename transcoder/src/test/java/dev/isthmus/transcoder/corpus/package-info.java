@NullMarked
package dev.isthmus.transcoder.corpus;

import org.jspecify.annotations.NullMarked;
