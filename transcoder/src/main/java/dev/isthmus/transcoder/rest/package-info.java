/**
 * The REST wire: JSON and the binary tensor data extension. Readers are fed a body in chunks; writers return a complete
 * body or parts of it. Nothing here knows HTTP.
 */
@NullMarked
package dev.isthmus.transcoder.rest;

import org.jspecify.annotations.NullMarked;
