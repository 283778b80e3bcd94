@NullMarked
package dev.isthmus.gateway.validation;

import org.jspecify.annotations.NullMarked;
