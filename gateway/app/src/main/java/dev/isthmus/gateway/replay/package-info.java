/**
 * Sends requests to a server: those of a payload log, whose responses it compares with the recorded ones, or one
 * request many times.
 */
@NullMarked
package dev.isthmus.gateway.replay;

import org.jspecify.annotations.NullMarked;
