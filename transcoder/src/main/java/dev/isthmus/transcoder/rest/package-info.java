/**
 * The REST wire: JSON and the binary tensor data extension. Readers take a body in chunks as they arrive; writers make one
 * body. Nothing here knows HTTP.
 */
@NullMarked
package dev.isthmus.transcoder.rest;

import org.jspecify.annotations.NullMarked;
