@NullMarked
package dev.isthmus.gateway.fleet.kserve;

import org.jspecify.annotations.NullMarked;
