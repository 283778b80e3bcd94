@NullMarked
package dev.isthmus.gateway.diagnosis;

import org.jspecify.annotations.NullMarked;
